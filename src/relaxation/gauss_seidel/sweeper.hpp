// SPDX-License-Identifier: BSD-3-Clause
/// Sweeps on a device that is selected at run time.
#pragma once

#include "backend/targets.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"

#include <memory>

namespace echelon::gauss_seidel {

/// A backend and its scratch memory.
template <class T>
class Sweeper {
 public:
  virtual ~Sweeper() = default;
  /// Sweeps, waits for the sweeps, and returns the skipped rows; `sweeps.skipped` is ignored.
  virtual SkippedRows sweep(Sweeps<T> sweeps) = 0;
  /// Size of the scratch memory.
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

template <class Target, class T>
[[nodiscard]] std::unique_ptr<Sweeper<T>> make_sweeper(const Device& device);

}  // namespace echelon::gauss_seidel

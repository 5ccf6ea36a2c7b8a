// SPDX-License-Identifier: BSD-3-Clause
/// The operations of <echelon/banded.hpp> for checked arguments, per compilation target.
#pragma once

#include "backend/targets.hpp"

#include <echelon/banded.hpp>

#include <cstddef>
#include <memory>

namespace echelon {

/// Factors of band matrices of one shape, on one device.
template <class T>
class BandFactors {
 public:
  BandFactors() = default;
  BandFactors(const BandFactors&) = delete;
  BandFactors& operator=(const BandFactors&) = delete;
  virtual ~BandFactors() = default;

  /// `outcomes`: one for each matrix, in the memory of A.
  virtual void factor(const BandBatch<const T>& A, BatchOutcome* outcomes) = 0;
  virtual void solve(const DenseBatch<T>& B) = 0;
  [[nodiscard]] virtual std::int64_t n() const = 0;
  [[nodiscard]] virtual std::int64_t count() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

template <class Target, class T>
[[nodiscard]] std::unique_ptr<BandFactors<T>> make_band_factors(const Device& device);

template <class Target, class T>
void solve_bands(const BandBatch<const T>& A, const DenseBatch<T>& B, BatchOutcome* outcomes);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Measured figures of several vectors at once.
#pragma once

#include "linalg/residual_check.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace echelon {

/// A right-hand side b, an answer x, and memory for their residual r = b - A x.
template <class T>
struct ResidualColumn {
  const T* b;
  const T* x;
  T* r;
};

/// Implemented by every ResidualCheck. On a GPU, which takes longer to wait for a result than to compute it,
/// the figures of up to 32 vectors arrive together, and A is read once for eight of them.
template <class T>
class ColumnsCheck {
 public:
  ColumnsCheck() = default;
  ColumnsCheck(const ColumnsCheck&) = delete;
  ColumnsCheck& operator=(const ColumnsCheck&) = delete;
  virtual ~ColumnsCheck() = default;

  /// ResidualCheck::vector() of each x.
  virtual std::vector<VectorFacts> vectors(std::int64_t n, std::span<const T* const> x) = 0;
  /// ResidualCheck::residual() of each column, with the bits that it has alone.
  virtual std::vector<VectorFacts> residuals(const MatrixRef<T>& A,
                                             std::span<const ResidualColumn<T>> columns) = 0;
};

template <class T>
[[nodiscard]] ColumnsCheck<T>& for_columns(ResidualCheck<T>& check) {
  return dynamic_cast<ColumnsCheck<T>&>(check);
}

}  // namespace echelon

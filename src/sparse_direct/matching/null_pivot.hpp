// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/scalar.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon::sparse_direct {

/// Tolerance relative to a matrix scaled to elements of magnitude 1, below which a pivot is taken for zero.
template <class T>
[[nodiscard]] double null_pivot_tolerance(std::int64_t n) {
  return 4 * std::sqrt(static_cast<double>(n)) * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());
}

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/scalar.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <vector>

namespace echelon {

/// Binary exponents of the largest elements of the columns of a column-major A, m by n; zero for a column of
/// zeros. Empty if the columns are of about equal size: within six decades.
template <class T>
[[nodiscard]] std::vector<int> column_exponents(const T* A, std::size_t m, std::size_t n) {
  constexpr int widest_spread = 20;
  std::vector<int> exponents(n, 0);
  int smallest = std::numeric_limits<int>::max();
  int largest = std::numeric_limits<int>::min();
  for (std::size_t j = 0; j < n; ++j) {
    Real<T> size = 0;
    for (std::size_t i = j * m; i < (j + 1) * m; ++i) size = std::max(size, std::abs(A[i]));
    if (size == 0) continue;
    exponents[j] = std::ilogb(size);
    smallest = std::min(smallest, exponents[j]);
    largest = std::max(largest, exponents[j]);
  }
  return smallest < largest && largest - smallest > widest_spread ? exponents : std::vector<int>();
}

}  // namespace echelon

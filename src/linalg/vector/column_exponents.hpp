// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/scalar.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace echelon {

/// Binary exponents of the sizes of the lines of a matrix; zero for a line of zeros. Empty if the lines are
/// of about equal size: by default within six decades.
template <class R>
[[nodiscard]] std::vector<int> exponents_of(const std::vector<R>& sizes, int widest_spread = 20) {
  std::vector<int> exponents(sizes.size(), 0);
  int smallest = std::numeric_limits<int>::max();
  int largest = std::numeric_limits<int>::min();
  for (std::size_t j = 0; j < sizes.size(); ++j) {
    if (sizes[j] == 0) continue;
    exponents[j] = std::ilogb(sizes[j]);
    smallest = std::min(smallest, exponents[j]);
    largest = std::max(largest, exponents[j]);
  }
  return smallest < largest && largest - smallest > widest_spread ? exponents : std::vector<int>();
}

/// Exponents of the largest elements of the columns of a column-major A, m by n.
template <class T>
[[nodiscard]] std::vector<int> column_exponents(const T* A, std::size_t m, std::size_t n) {
  std::vector<Real<T>> sizes(n, 0);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t i = j * m; i < (j + 1) * m; ++i) sizes[j] = std::max(sizes[j], std::abs(A[i]));
  }
  return exponents_of(sizes);
}

/// Largest magnitudes of the rows of a matrix on the host.
template <class T>
[[nodiscard]] std::vector<Real<T>> row_sizes(const Csr<T>& A) {
  std::vector<Real<T>> sizes(static_cast<std::size_t>(A.rows()), 0);
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k)
      sizes[static_cast<std::size_t>(i)] =
          std::max(sizes[static_cast<std::size_t>(i)], std::abs(A.values()[k]));
  }
  return sizes;
}

}  // namespace echelon

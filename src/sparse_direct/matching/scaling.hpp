// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// Factors r and c of the rows and columns of a matrix, finite and not negative; empty: 1.
struct Scaling {
  std::vector<double> rows;
  std::vector<double> columns;
};

/// Element i of factors as in Scaling.
[[nodiscard]] inline double factor_at(const std::vector<double>& factors, std::int64_t i) {
  return factors.empty() ? 1 : factors[static_cast<std::size_t>(i)];
}

/// Factors that bring the largest |r_i a_ij c_j| of every row and column close to 1; equal factors for rows
/// and columns of a symmetric matrix; 1 for a row or column of zeros. Where magnitudes of rows or columns
/// differ by more than 1e9, it starts from geometric means. At most 6 `passes` + 1 passes over A. D. Ruiz, A
/// scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
template <class T>
[[nodiscard]] Scaling infinity_norm_scaling(const Csr<T>& a, int passes = 10);

/// Powers of two that bring the largest |r_i a_ij| of every row, and then the largest |r_i a_ij c_j| of every
/// column, into [1, 2), if they are within 2^1000 of it; 1 for a row or column of zeros. Two passes over A:
/// LAPACK's geequ.
template <class T>
[[nodiscard]] Scaling equilibration(const Csr<T>& a);

}  // namespace echelon::sparse_direct

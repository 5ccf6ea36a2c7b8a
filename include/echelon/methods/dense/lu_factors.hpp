// SPDX-License-Identifier: BSD-3-Clause
/// LU factors of matrices of any shape, for callers that need L, U and the row exchanges themselves. The
/// class Lu solves square systems, with refinement, a condition estimate and a cure for growth.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace echelon {

/// P A = L U for an m by n matrix A: L is m by k, unit lower trapezoidal with |l_ij| <= 1, and U is k by n,
/// upper trapezoidal, with k = min(m, n). The conventions are those of LAPACK's getrf, but indices count
/// from 0.
template <class T>
struct ECHELON_API LuFactors {
  /// L below the diagonal, without its ones, and U on and above it: m by n, in the memory of A.
  Dense<T> factors;
  /// Row i was exchanged with row row_exchanges[i] >= i, for i = 0, 1, ..., k - 1 in this order; on the host.
  /// LAPACK's ipiv, less 1.
  std::vector<std::int64_t> row_exchanges;
  /// First column whose pivot is exactly zero; U is singular then. LAPACK's info, less 1. A rank cannot be
  /// read from U: a matrix of lower rank seldom has an exact zero among its pivots, and pivots need not be
  /// small where singular values are. RowReduction determines ranks.
  std::optional<std::int64_t> zero_pivot;
  /// max |u_ij| / max |a_ij|: the factors are those of a matrix that differs from A by about this times the
  /// unit roundoff, relative to A. NaN if A has a NaN or Inf, or if elements overflowed. 0 if A is zero.
  double growth = 0;

  [[nodiscard]] std::int64_t rows() const { return factors.rows(); }
  [[nodiscard]] std::int64_t columns() const { return factors.columns(); }
  /// Copy of L with its ones and zeros, m by k.
  [[nodiscard]] Dense<T> lower() const;
  /// Copy of U with its zeros, k by n.
  [[nodiscard]] Dense<T> upper() const;
  /// Row i of P A is row row_permutation()[i] of A; m numbers.
  [[nodiscard]] std::vector<std::int64_t> row_permutation() const;
};

/// Factors A by elimination with partial pivoting, in the memory of A and on its device: m n^2 - n^3 / 3
/// flops for m >= n. The same pivots for any number of threads; of equal magnitudes the first row is the
/// pivot. Waits for the result. `device` selects serial or openmp for an A in host memory. Throws
/// DeviceMismatch, OutOfMemory.
template <class T>
[[nodiscard]] ECHELON_API LuFactors<T> lu_factor(Dense<T> A, const std::optional<Device>& device = {});
/// Factors a dense copy of a sparse matrix or a view.
template <class T>
[[nodiscard]] ECHELON_API LuFactors<T> lu_factor(MatrixRef<T> A, const std::optional<Device>& device = {});

}  // namespace echelon

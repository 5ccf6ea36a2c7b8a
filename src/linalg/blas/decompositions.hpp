// SPDX-License-Identifier: BSD-3-Clause
/// LAPACK routines for inverses, pseudo-inverses and least-squares solutions. Matrices are column-major and,
/// unless stated otherwise, n by n with leading dimension n.
#pragma once

#include <optional>

namespace echelon::lapack {

/// Checks the info of LAPACKE, and returns it if it is not negative. Throws OutOfMemory if there was no
/// memory for a work array, and Error for an illegal argument, reported as -i: a bug of this library, or a
/// matrix too large for LAPACK's integers.
int checked_info(int info, const char* routine);

/// Replaces the lower triangle of a, a Cholesky factor, by that of the inverse.
void invert_factored(int n, double* a);

/// Replaces the symmetric a, given by its lower triangle, by orthonormal eigenvectors; values ascend. False
/// if the iteration does not converge.
[[nodiscard]] bool symmetric_eigenvectors(int n, double* a, double* values);

/// Singular value decomposition A = U diag(values) V^T, values descending; a is overwritten. False if the
/// iteration does not converge.
[[nodiscard]] bool singular_vectors(int n, double* a, double* values, double* u, double* v_transposed);

/// Replaces the columns of the max(m, n) by `columns` matrix b, whose first m rows are right-hand sides, by
/// the x of least ||b - A x||_2, and of these of least norm, in the first n rows, for the m by n matrix A in
/// a, which is overwritten. Returns the rank: the number of singular values above `tolerance` times the
/// largest one. Empty if the iteration does not converge.
[[nodiscard]] std::optional<int> least_squares(int m, int n, int columns, double* a, double* b,
                                               double tolerance);

}  // namespace echelon::lapack

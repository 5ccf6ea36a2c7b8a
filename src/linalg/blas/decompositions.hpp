// SPDX-License-Identifier: BSD-3-Clause
/// LAPACK routines for inverses and pseudo-inverses. Matrices are n by n, column-major, with leading
/// dimension n.
#pragma once

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

}  // namespace echelon::lapack

// SPDX-License-Identifier: BSD-3-Clause
/// Explicit inverse of the coarsest matrix: applied as one dense product, on any device.
#pragma once

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon::multigrid {

template <class T>
struct DenseInverse {
  /// Transpose of the inverse, n by n, column-major on A's device: rows of the inverse are contiguous. 0 by 0
  /// if A has elements that are not finite, or the eigenvalue or singular value iteration did not converge.
  Dense<T> transpose;
  /// Dimension of the null space, by singular values below 10 n eps of the largest. Rows of A without
  /// elements are not counted: the inverse is zero there.
  std::int64_t null_space = 0;
};

/// The inverse of scale A, or its pseudo-inverse (Moore, Penrose) if A is singular to its precision, computed
/// in double on the host: by Cholesky or LU factorisation in 2 n^3 flops, or for a singular A by eigenvectors
/// or singular vectors in some 20 n^3 flops. Symmetric to the last bit if `symmetric`. Allocates 8 n^2 bytes,
/// or up to 32 n^2 for a singular A.
template <class To, class T>
[[nodiscard]] DenseInverse<To> dense_inverse(const Csr<T>& A, double scale, bool symmetric);

/// An orthonormal basis of the null space of the symmetric A, n by its dimension, on the host: eigenvectors
/// whose eigenvalues are below the rounding of A's elements. Rows of A without elements are not counted. The
/// basis has no columns if A is regular or has elements that are not finite. Some 10 n^3 flops on the host.
template <class T>
[[nodiscard]] Dense<double> null_space(const Csr<T>& A);

}  // namespace echelon::multigrid

// SPDX-License-Identifier: BSD-3-Clause
/// Explicit inverse of the coarsest matrix: applied as one dense product, on any device.
#pragma once

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon::multigrid {

/// Inverse of a coarsest matrix A, or its pseudo-inverse (Moore, Penrose), in double on the host. Both
/// matrices are 0 by 0 if A has elements that are not finite, or the iteration for eigenvectors or singular
/// vectors did not converge.
struct HostInverse {
  Dense<double> transpose;  ///< n by n, column-major: rows of the inverse are contiguous
  /// Orthonormal basis of the null space, n by its dimension. Rows of A without elements are not counted: the
  /// inverse is zero there.
  Dense<double> null_space;
  /// Largest |a_ii (A^-1)_ii|, 1 for a diagonal matrix: of a symmetric positive definite A at most the
  /// condition number after scaling to a diagonal of ones.
  double growth = 0;
};

/// Inverts A, or a singular A outside its null space, to which singular values below 10 n eps of the largest
/// belong: by Cholesky or LU factorisation in 2 n^3 flops, or for a singular A by eigenvectors or singular
/// vectors in some 20 n^3 flops. Symmetric to the last bit if `symmetric`. Allocates up to 32 n^2 bytes.
template <class T>
[[nodiscard]] HostInverse host_inverse(const Csr<T>& A, bool symmetric);

/// Inverts a symmetric A that is taken to be singular outside its null space, to which eigenvalues below the
/// rounding of A's elements belong: if that consists of the constants by Cholesky factorisation in 2 n^3
/// flops, else by eigenvectors in some 20 n^3 flops.
template <class T>
[[nodiscard]] HostInverse semidefinite_inverse(const Csr<T>& A);

/// Inverse in the precision and on the device in which it is applied.
template <class T>
struct DenseInverse {
  Dense<T> transpose;           ///< as in HostInverse
  std::int64_t null_space = 0;  ///< dimension of the null space
};

/// Rounds the inverse of A to that of scale A. For a complex one `inverse` is that of the real matrix
/// (Re A, -Im A; Im A, Re A).
template <class To>
[[nodiscard]] DenseInverse<To> rounded_inverse(const HostInverse& inverse, double scale,
                                               const Device& device);

/// The inverse of scale A on A's device. A complex A takes the flops and the memory of a real one of twice
/// its order.
template <class To, class T>
[[nodiscard]] DenseInverse<To> dense_inverse(const Csr<T>& A, double scale, bool hermitian);

}  // namespace echelon::multigrid

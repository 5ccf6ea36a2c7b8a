// SPDX-License-Identifier: BSD-3-Clause
/// Set-up on the host of the preconditioners of least squares (krylov/right_preconditioner.hpp).
#pragma once

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>

namespace echelon::krylov {

template <class T>
struct SketchInverse {
  Dense<T> inverse;  ///< n by n
  std::int64_t rank = 0;
};

/// The P with (sketch P)^H (sketch P) = [I 0; 0 0], the identity of the order of the rank, whose range is
/// that of sketch^H: R^-1 for the R of a QR factorisation of the sketch, of full rank, and Pi Z^H T^-1 for
/// its complete orthogonal decomposition sketch Pi = Q T Z else. `sketch`: m by n with m >= n, in host memory
/// and column-major; overwritten. 2 m n^2 + n^3 flops.
template <class T>
[[nodiscard]] SketchInverse<T> invert_sketch(const Device& device, Dense<T>& sketch);

/// A^H A + d^2 I for a sparse A, in host memory.
template <class T>
[[nodiscard]] Csr<T> normal_matrix(const MatrixRef<T>& A, double damping);

}  // namespace echelon::krylov

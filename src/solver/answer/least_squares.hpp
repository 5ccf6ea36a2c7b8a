// SPDX-License-Identifier: BSD-3-Clause
/// Least-squares solutions of small systems by a dense decomposition, whatever the rank of A.
#pragma once

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace echelon {

/// Order of the largest square A that is decomposed: some 5 s and 20 MB.
inline constexpr std::int64_t most_decomposed_rows = 1500;

/// Whether A is real, and its decomposition takes no more than that of a square A of order
/// `most_decomposed_rows`.
template <class T>
[[nodiscard]] bool is_decomposable(const MatrixRef<T>& A);

/// The x of least residual ||b - A x||_2 for each column b of an m by k matrix.
template <class T>
struct LeastSquaresSolution {
  Dense<T> X;             ///< n by k, on the host
  std::int64_t rank = 0;  ///< of A: its singular values above max(m, n) eps ||A||_2
  /// Whether each x has the least norm of all. The columns of A are otherwise scaled to equal size.
  bool least_norm = true;
};

/// Solves by the singular value decomposition of A, an m by n matrix that is_decomposable, in double on the
/// host. Columns whose largest elements are spread over more than six decades are scaled by powers of two.
/// Empty if the decomposition does not converge. Cost: 8/3 n^3 flops for m = n.
template <class T>
[[nodiscard]] std::optional<LeastSquaresSolution<T>> solve_least_squares(const MatrixRef<T>& A,
                                                                         const Dense<T>& B);

/// A^T r - d^2 x for the residual r of an x, which is zero where x minimises ||b - A x||^2 + d^2 ||x||^2.
struct NormalResidual {
  double largest = std::numeric_limits<double>::infinity();  ///< of |a^T r - d^2 x_j| / ||a||_2, columns a
  double norm2 = std::numeric_limits<double>::infinity();
  double matrix_norm = 0;  ///< ||A||_F
};

/// Computes the normal residual with sums in double, those of a dense A on its device; columns of zeros are
/// left out of `largest`. Of an operator, which has to have a transposed product to be known at all,
/// `matrix_norm` is that given, and `largest` is norm2 / matrix_norm. Cost: two passes over A.
template <class T>
[[nodiscard]] NormalResidual normal_residual(const MatrixRef<T>& A, const Array<T>& r,
                                             const std::vector<T>& x, double damping, double matrix_norm);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Least-squares solutions of small systems by a dense decomposition, whatever the rank of A.
#pragma once

#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>
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

/// The largest |a^T r| / ||a||_2 of the columns a of A, other than zero: zero for the residual r of an x of
/// least residual. Infinite for an operator. On the host. Cost: some products with A.
template <class T>
[[nodiscard]] double largest_projection(const MatrixRef<T>& A, const std::vector<T>& r);

}  // namespace echelon

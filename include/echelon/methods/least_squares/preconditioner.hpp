// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/enum_words.hpp>

#include <array>

namespace echelon {

/// Preconditioner P of least squares, min ||b - A P y|| with x = P y, for an m by n matrix A.
enum class LeastSquaresPreconditioner {
  none,
  /// Sparse, m >= n: L^-H of an incomplete Cholesky factorisation without fill of A^H A + d^2 I, to whose
  /// diagonal the least shift is added with which it succeeds.
  ic0,
  /// m >= 2 n: R^-1 of a QR factorisation of a random sketch of 4 n rows, sums of rows of A with random
  /// signs, each row being part of eight of them; of A itself where m <= 4 n. The condition of A P is about
  /// 3, whatever that of A. Of a rank-deficient A the pseudoinverse takes the place of R^-1. Memory: 6 n^2
  /// elements.
  sketch
};
constexpr std::array<EnumWord<LeastSquaresPreconditioner>, 3> words_of(LeastSquaresPreconditioner) {
  using enum LeastSquaresPreconditioner;
  return {{{none, "none"}, {ic0, "ic0"}, {sketch, "sketch"}}};
}

}  // namespace echelon

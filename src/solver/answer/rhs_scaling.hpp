// SPDX-License-Identifier: BSD-3-Clause
/// Powers of two by which right-hand sides are multiplied, so that numbers stay in the range of T.
#pragma once

#include "linalg/residual_check.hpp"
#include "solver/answer/error_measurement.hpp"
#include "solver/answer/solver_state.hpp"

#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/scalar.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace echelon {

/// Power of two by which numbers of the given norm are multiplied so that it becomes moderate; 0 if it is.
template <class T>
int moderating_exponent(double norm) {
  constexpr int large = std::is_same_v<Real<T>, double> ? 200 : 50;
  // Even the sum of finite numbers can overflow.
  const int size = std::isfinite(norm) ? std::ilogb(norm) : std::numeric_limits<double>::max_exponent;
  if (!(norm > 0) || std::abs(size) <= large) return 0;
  return size > 0 ? large - size : -large - size;
}

/// Scaling of the right-hand sides of a solve. A of the set-up is 2^e times the matrix that was given, and
/// column j of B is multiplied by 2^exponent(j): the x of the method is 2^-unscaling(j) times the answer.
template <class T>
class RhsScaling {
 public:
  RhsScaling(const SolverState<T>& state, SolveWorkspace<T>& workspace)
      : state_(state), own_(workspace), check_(*workspace.residual_check) {}

  /// Multiplies columns of B whose norm is far from 1, in a copy, and finds their facts anew. Returns B or
  /// the copy.
  DenseView<const T> moderate(DenseView<const T> B, std::vector<VectorFacts>& facts) {
    for (std::size_t j = 0; j < facts.size(); ++j) {
      int exponent = is_user_operator() ? 0 : moderating_exponent<T>(facts[j].norm2);
      if (exponent != 0 && !check_.scales_exactly(B.rows(), exponent, B.column(column_number(j))))
        exponent = 0;
      exponents_.push_back(0);
      if (exponent != 0) B = multiply(B, j, exponent, facts[j]);
    }
    return B;
  }

  /// Exponents of the powers of two that bring x and A x of each column into the range of T; 0 where they are
  /// in it, or where none does. `columns`: the answers, `facts`: of B.
  [[nodiscard]] std::vector<int> range_exponents(DenseView<const T> B,
                                                 const std::vector<MeasuredColumn>& columns,
                                                 const std::vector<VectorFacts>& facts) const {
    std::vector<int> exponents(columns.size(), 0);
    for (std::size_t j = 0; j < columns.size() && !is_user_operator(); ++j) {
      exponents[j] = columns[j].x.nonfinite ? exponent_after_overflow(B, j, facts[j].norm_inf)
                                            : exponent_of_product(columns[j]);
    }
    return exponents;
  }

  /// Multiplies right-hand sides, in a copy, by powers of two with the exponents of range_exponents().
  DenseView<const T> bring_into_range(DenseView<const T> B, const std::vector<int>& exponents,
                                      std::vector<VectorFacts>& facts) {
    for (std::size_t j = 0; j < exponents.size(); ++j) {
      if (exponents[j] != 0) B = multiply(B, j, exponents[j], facts[j]);
    }
    return B;
  }

  /// Column j of B was multiplied by 2^exponent(j).
  [[nodiscard]] int exponent(std::size_t j) const { return exponents_[j]; }
  /// Exponent of the power of two that makes column j of X the answer for A and b as they were given.
  [[nodiscard]] int unscaling(std::size_t j) const { return state_.exponent - exponents_[j]; }
  /// Makes column j of X, an answer for A and b as they were given, one for the method.
  void scale(DenseView<T> X, std::size_t j) { multiply_column(X, j, -unscaling(j)); }
  void unscale(DenseView<T> X, std::size_t j) { multiply_column(X, j, unscaling(j)); }
  /// Rounds column j of X to numbers that remain as they are when they are unscaled.
  void round_to_unscaled(DenseView<T> X, std::size_t j) {
    unscale(X, j);
    scale(X, j);
  }

 private:
  /// Whether nothing is known of products with scaled vectors.
  [[nodiscard]] bool is_user_operator() const {
    return state_.matrix.is_operator() && !state_.matrix.is_stencil();
  }
  static std::int64_t column_number(std::size_t j) { return static_cast<std::int64_t>(j); }

  void multiply_column(DenseView<T> X, std::size_t j, int exponent) {
    if (exponent != 0) check_.scale(X.rows(), exponent, X.column(column_number(j)));
  }

  /// Multiplies column j of the copy of B, which is made first if B is not the copy. Returns the copy.
  DenseView<const T> multiply(DenseView<const T> B, std::size_t j, int exponent, VectorFacts& facts) {
    if (B.data() != own_.b.data()) B = own_.copy_of_rhs(B);
    T* const b = own_.b.view().column(column_number(j));
    check_.scale(B.rows(), exponent, b);
    exponents_[j] += exponent;
    facts = check_.vector(B.rows(), b);
    return B;
  }

  /// Exponent of the power of two that brings b to the lower end of T's range without loss of bits, after x
  /// has overflowed: the x of the scaled A can be much larger than that of A.
  [[nodiscard]] int exponent_after_overflow(DenseView<const T> B, std::size_t j, double norm) const {
    using Limits = std::numeric_limits<Real<T>>;
    constexpr int lower_end = Limits::min_exponent + Limits::digits;
    int exponent = norm > 0 ? std::min(lower_end - std::ilogb(norm), 0) : 0;
    while (exponent != 0 && !check_.scales_exactly(B.rows(), exponent, B.column(column_number(j))))
      exponent /= 2;
    return exponent;
  }

  /// Exponent of the power of two that brings A x to the upper end of T's range, where it overflows, or where
  /// rows of it are so small that residuals lose digits; 0 where neither is so, or where all rows fit at no
  /// exponent. Rows of A, and elements of b, that differ by many orders of magnitude can have such an x.
  /// Elements of b that vanish are of no consequence compared with A x.
  [[nodiscard]] int exponent_of_product(const MeasuredColumn& column) const {
    using Limits = std::numeric_limits<Real<T>>;
    constexpr int smallest = Limits::min_exponent + 2 * Limits::digits;
    if (!(column.x.norm_inf > 0)) return 0;
    const int size = std::ilogb(column.x.norm_inf);
    const bool overflows = !std::isfinite(column.r.norm2);
    const bool underflows = state_.smallest_row > 0 && std::ilogb(state_.smallest_row) + size < smallest;
    const int exponent = Limits::max_exponent - 24 - std::ilogb(state_.norm_inf) - size;
    return (overflows && exponent < 0) || (underflows && exponent > 0) ? exponent : 0;
  }

  const SolverState<T>& state_;
  SolveWorkspace<T>& own_;
  ResidualCheck<T>& check_;
  std::vector<int> exponents_;
};

}  // namespace echelon

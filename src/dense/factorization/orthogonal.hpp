// SPDX-License-Identifier: BSD-3-Clause
/// Complete orthogonal decomposition of a dense matrix of any shape and rank, by LAPACK on the host.
#pragma once

#include "solver/direct/decomposed_rank.hpp"

#include <echelon/array.hpp>
#include <echelon/linalg/determinant.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace echelon::lu {

/// With S = A E for a tall A, or S = A^H E for a wide one, where E scales columns of S by powers of two if
/// their sizes differ much: S = Q R, and for the core C = R, or C = R^H,
///
///   C P = U [ T11 T12 ],   [ T11 T12 ] = [ L 0 ] Z
///           [  0   0  ]
///
/// with column pivoting, and Z only where the rank is not full and x is to have the least norm. For a basic x
/// of a wide A, C is A E itself.
template <class T>
class OrthogonalDecomposition {
 public:
  /// Scratch memory of a solve, which makes its own.
  struct Space {
    [[nodiscard]] static std::size_t bytes() { return 0; }
  };
  /// Decomposes A, with a tolerance of max(m, n) epsilon by default. False if a stop was requested. 2 m n^2 -
  /// 2/3 n^3 flops for m >= n, and 4/3 n^3 for the core; memory: m n + n^2 elements.
  [[nodiscard]] bool factor(const DecompositionTask<T>& task);

  /// X = A^+ B, on the host, for column-major views: the columns have the least ||b - A x||, and of these the
  /// least norm, or are basic.
  void solve(Space& space, DenseView<const T> B, DenseView<T> X) const;
  /// D = (A^H A)^+ G for a tall A, or for any A of which the basic solution is computed.
  void solve_normal(Space& space, DenseView<const T> G, DenseView<T> D) const;

  /// Determinant of a square A; 0 if its rank is not full.
  [[nodiscard]] Determinant determinant() const;

  [[nodiscard]] const DecomposedRank& rank() const { return rank_; }
  [[nodiscard]] bool wide() const { return wide_; }
  /// Whether columns, or rows of a wide A, were scaled.
  [[nodiscard]] bool scaled() const { return !exponents_.empty(); }
  /// |T11(0, 0)|, between ||A E||_2 / sqrt(min(m, n)) and ||A E||_2.
  [[nodiscard]] double largest_pivot() const { return largest_pivot_; }
  /// Reciprocal condition number of T11, or L, in the 1-norm; 1 for a rank of zero.
  [[nodiscard]] double reciprocal_condition() const { return reciprocal_condition_; }
  [[nodiscard]] std::size_t bytes() const {
    return outer_.bytes() + outer_tau_.bytes() + core_.bytes() + core_tau_.bytes() + z_tau_.bytes();
  }

 private:
  void factor_core();
  void decide_rank(std::optional<double> tolerance, std::int64_t larger_side);
  /// y = 2^exponent y for the elements of the columns of Y, one exponent for each row.
  void scale_rows(DenseView<T> Y) const;
  /// Solves C X = Y in place, in the sense of least squares; Y has as many rows as C has columns or more.
  void solve_core(DenseView<T> Y) const;
  void solve_normal_core(DenseView<T> Y) const;
  void permute(DenseView<T> Y, bool back) const;

  Device device_ = Device::serial();
  bool wide_ = false;   // S = A^H
  bool basic_ = false;  // no Z
  std::int64_t rows_ = 0, columns_ = 0;
  Dense<T> outer_;  // R above the vectors of Q; empty if C is A E
  Array<T> outer_tau_;
  Dense<T> core_;  // T above the vectors of U, or L with those of Z
  Array<T> core_tau_, z_tau_;
  std::vector<int> pivots_;     // from 1
  std::vector<int> exponents_;  // of the columns of S; empty: E = I
  DecomposedRank rank_;
  double largest_pivot_ = 0;
  double reciprocal_condition_ = 1;
};

}  // namespace echelon::lu

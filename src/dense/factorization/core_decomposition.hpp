// SPDX-License-Identifier: BSD-3-Clause
/// Rank-revealing decomposition of the small core of a dense matrix, by LAPACK on the host.
#pragma once

#include "linalg/determinant_product.hpp"
#include "solver/direct/decomposed_rank.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace echelon::lu {

/// How a core is decomposed.
struct CoreTask {
  Device device;     ///< of the host, whose threads are used
  double tolerance;  ///< on pivots, relative to the largest
  bool basic;        ///< without Z
};

/// The core C of a matrix, in host memory:
///
///   C P = U [ T11 T12 ],   [ T11 T12 ] = [ L 0 ] Z
///           [  0   0  ]
///
/// with column pivoting, and Z only where the rank is not full and x is to have the least norm. A triangular
/// C whose condition leaves no doubt that its rank is full is taken as it is: T11 = C, or T11 = C^H.
template <class T>
class CoreDecomposition {
 public:
  void clear();
  /// Decomposes a C of any shape.
  void factor(Dense<T> C, const CoreTask& task);
  /// Decomposes R, or R^H, for an upper triangle R above zeros. 4/3 n^3 flops, or 2 n^2.
  void factor_triangle(Dense<T> R, bool adjoint, const CoreTask& task);

  /// Solves C X = Y in place, in the sense of least squares; Y has as many rows as C has rows or columns,
  /// whichever are more.
  void solve(DenseView<T> Y) const;
  /// Y = (C^H C)^+ Y.
  void solve_normal(DenseView<T> Y) const;
  void multiply_by_determinant(DeterminantProduct& product) const;

  [[nodiscard]] std::int64_t columns() const { return core_.columns(); }
  [[nodiscard]] const DecomposedRank& rank() const { return rank_; }
  /// Between ||C||_2 / sqrt(n) and ||C||_2 for n columns, or rows.
  [[nodiscard]] double largest_pivot() const { return largest_pivot_; }
  /// Reciprocal condition number of T11, or L, in the 1-norm; 1 for a rank of zero.
  [[nodiscard]] double reciprocal_condition() const { return reciprocal_condition_; }
  [[nodiscard]] std::size_t bytes() const { return core_.bytes() + core_tau_.bytes() + z_tau_.bytes(); }

 private:
  [[nodiscard]] bool is_clearly_regular(double tolerance) const;
  void take_triangle(double tolerance);
  void decide_rank(double tolerance);
  [[nodiscard]] DenseView<T> unknowns(DenseView<T> Y) const;
  void solve_triangle(bool adjoint, DenseView<T> Y) const;
  void permute(DenseView<T> Y, bool back) const;

  Device device_ = Device::serial();
  Dense<T> core_;  // T above the vectors of U, or L with those of Z; C or C^H if it is taken as it is
  bool pivoted_ = true;
  bool adjoint_ = false;  // core_ is C^H
  Array<T> core_tau_, z_tau_;
  std::vector<int> pivots_;  // from 1
  DecomposedRank rank_;
  double largest_pivot_ = 0;
  double reciprocal_condition_ = 1;
};

}  // namespace echelon::lu

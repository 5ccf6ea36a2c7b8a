// SPDX-License-Identifier: BSD-3-Clause
/// Complete orthogonal decomposition of a dense matrix of any shape and rank, for every backend.
#pragma once

#include "dense/factorization/core_decomposition.hpp"
#include "dense/factorization/thin_qr.hpp"
#include "solver/direct/decomposed_rank.hpp"

#include <echelon/linalg/determinant.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::lu {

/// With S = A E for a tall A, or S = A^H E for a wide one, where E scales columns of S by powers of two if
/// their sizes differ much: S = Q R on the device of A, and the decomposition of the core C = R, or C = R^H,
/// on the host. For a basic x of a wide A, C is A E itself.
template <class B, class T>
class OrthogonalDecomposition {
 public:
  /// Scratch memory of a solve; the host makes its own.
  struct Space {
    [[nodiscard]] std::size_t bytes() const { return products.bytes(); }
    B backend;
    Array<T> products;  ///< of Q^H or Q, for the largest number of right-hand sides so far
  };
  [[nodiscard]] static Space make_space(const Device& device) { return {B(device), {}}; }
  /// Decomposes A, with a tolerance of max(m, n) epsilon by default. False if a stop was requested. 2 m n^2 -
  /// 2/3 n^3 flops for m >= n, or more on a GPU, and up to 4/3 n^3 for the core; memory: m n + n^2 elements.
  [[nodiscard]] bool factor(const DecompositionTask<T>& task);

  /// X = A^+ rhs for column-major views on the device: the columns have the least ||b - A x||, and of these
  /// the least norm, or are basic. Waits.
  void solve(Space& space, DenseView<const T> rhs, DenseView<T> X) const;
  /// D = (A^H A)^+ G for a tall A, or for any A of which the basic solution is computed. Waits.
  void solve_normal(Space& space, DenseView<const T> G, DenseView<T> D) const;

  /// Determinant of a square A; 0 if its rank is not full.
  [[nodiscard]] Determinant determinant() const;

  [[nodiscard]] const DecomposedRank& rank() const { return core_.rank(); }
  [[nodiscard]] bool wide() const { return wide_; }
  /// Whether columns, or rows of a wide A, were scaled.
  [[nodiscard]] bool scaled() const { return !exponents_.empty(); }
  /// Between ||A E||_2 / sqrt(min(m, n)) and ||A E||_2.
  [[nodiscard]] double largest_pivot() const { return core_.largest_pivot(); }
  [[nodiscard]] double reciprocal_condition() const { return core_.reciprocal_condition(); }
  [[nodiscard]] std::size_t bytes() const { return outer_.bytes() + core_.bytes(); }

 private:
  /// y = 2^exponent y for the elements of the columns of Y, one exponent for each row.
  void scale_rows(DenseView<T> Y) const;

  bool wide_ = false;  // S = A^H
  std::int64_t rows_ = 0, columns_ = 0;
  bool has_outer_ = false;  // C is not A E
  ThinQr<B, T> outer_;
  CoreDecomposition<T> core_;
  std::vector<int> exponents_;  // of the columns of S; empty: E = I
};

}  // namespace echelon::lu

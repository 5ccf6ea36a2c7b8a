// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "linalg/determinant_product.hpp"
#include "sparse_direct/left_looking/block_order.hpp"
#include "sparse_direct/left_looking/factorization.hpp"
#include "sparse_direct/left_looking/factors.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/matching/scaling.hpp"
#include "support/setup_control.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/report.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/factors.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// Left-looking LU factorisation of the diagonal blocks of A's block triangular form. Rows and columns that
/// no matching covers make A singular whatever its values: they are replaced by rows and columns of the
/// identity, with right-hand sides of zero.
template <class T>
class BlockLu {
 public:
  /// `threshold`: a diagonal element becomes the pivot if it is at least this fraction of the largest element
  /// in its row.
  explicit BlockLu(double threshold) : threshold_(threshold) {}

  /// Matches, scales and orders A. If `same_pattern`, the order is kept where the matching and the pattern
  /// without zeros are those of the last analysis. With `keeps_zeros`, stored zeros count as nonzeros.
  void analyze(const Csr<T>& A, const OrderingOptions& ordering, bool same_pattern, bool keeps_zeros);
  /// Takes new values for the scaling and the pivots of the last factorisation. False where an element that
  /// was left out as zero differs from it.
  [[nodiscard]] bool adapt_to_values(const Csr<T>& A);

  [[nodiscard]] const BlockOrder& order() const { return order_; }
  [[nodiscard]] CostPrediction predicted_cost() const;
  /// Factors A, with the last pivots and scale factors after adapt_to_values(). Scale factors are chosen
  /// again where the pivots have changed much relative to each other or to the elements, and pivots where
  /// they are not large enough any more. `most_entries`: fill at which it ends.
  [[nodiscard]] LeftLookingEnd factor(const Csr<T>& A, double most_entries, const SetupControl& control);

  /// The matrix that is factored: A, or a copy if A is structurally singular or has many zeros.
  [[nodiscard]] const Csr<T>& matrix(const Csr<T>& A) const { return is_copied() ? reduced_ : A; }
  /// Scaling of equations and unknowns of A; 0 for equations that are left out.
  [[nodiscard]] const Scaling& scaling() const { return scaling_; }
  /// Scaling of matrix(), without zeros.
  [[nodiscard]] const Scaling& matrix_scaling() const { return matrix_scaling_; }
  [[nodiscard]] const LargeDiagonal& diagonal() const { return diagonal_; }
  [[nodiscard]] const std::vector<std::int32_t>& row_order() const { return factors_.row_order; }
  [[nodiscard]] const std::vector<std::int32_t>& column_order() const { return factors_.column_order; }
  /// Whether the last factorisation chose scale factors again.
  [[nodiscard]] bool is_scaled_again() const { return scaled_again_; }
  /// Smallest magnitude of a pivot over the largest.
  [[nodiscard]] double pivot_ratio() const { return pivots_.smallest; }
  /// Largest element that the elimination made over the largest of the matrix.
  [[nodiscard]] double growth() const;

  [[nodiscard]] static std::int64_t scratch_size(int /*columns*/) { return 0; }
  /// See sparse_direct::substitute().
  void substitute(bool transposed, int columns, T* x, T* scratch) const;

  /// Determinant and factors of an A whose rank is full.
  [[nodiscard]] DeterminantProduct determinant() const;
  [[nodiscard]] MatrixFactors<T> factors() const;
  [[nodiscard]] std::vector<Statistic> statistics() const;
  [[nodiscard]] std::size_t bytes() const;
  void release_factors() { factors_ = {}; }
  /// Releases everything but the order, which is returned.
  [[nodiscard]] BlockOrder release_to_order();

 private:
  /// Magnitudes relative to that of the largest pivot: of the smallest one, and of the largest scaled
  /// element.
  struct PivotRatios {
    double smallest = 1;
    double largest_given = 1;
  };

  [[nodiscard]] bool is_copied() const { return drops_zeros_ || !diagonal_.unmatched_columns.empty(); }
  void reduce(const Csr<T>& A);
  void set_scaling();
  void scale_again(const Csr<T>& A);
  [[nodiscard]] LeftLookingEnd refactor(const Csr<T>& A, const LeftLookingOptions& options);
  void measure_pivots();
  [[nodiscard]] bool has_scales_of(const PivotRatios& other) const;

  double threshold_;
  LargeDiagonal diagonal_;
  bool drops_zeros_ = false;
  bool keeps_pivots_ = false;
  bool scaled_again_ = false;
  Csr<T> reduced_;
  BlockOrder order_;
  Scaling scaling_, matrix_scaling_;
  PivotRatios pivots_;
  PivotRatios pivots_when_scaled_;
  LeftLookingFactors<T> factors_;
};

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/multifrontal/pivoted_factorization.hpp"
#include "sparse_direct/ordering/ordering.hpp"
#include "sparse_direct/singletons/core.hpp"
#include "sparse_direct/singletons/factors.hpp"
#include "support/setup_control.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// LU factorisation of a structurally singular A: its singletons, and fronts for the core that they leave.
template <class T>
class CoreLu {
 public:
  CoreLu(const Device& device, double threshold) : fronts_(device, threshold) {}

  /// Separates the core and lays out its fronts, unless `same_pattern` and the core is that of the last
  /// analysis.
  void analyze(const Csr<T>& A, const OrderingOptions& ordering, bool same_pattern);
  /// Factors A, with columns at the level of rounding errors delayed to the root, where they decide the rank.
  /// False when cancelled.
  [[nodiscard]] bool factor(const Csr<T>& A, const SetupControl& control);

  [[nodiscard]] const PivotedFactorization<T>& fronts() const { return fronts_; }
  [[nodiscard]] const LargeDiagonal& diagonal() const { return core_.diagonal; }
  /// Scaling of all rows and columns of A.
  [[nodiscard]] const Scaling& scaling() const { return scaling_; }
  [[nodiscard]] const std::vector<std::int32_t>& row_order() const { return singletons_.row_order(); }
  [[nodiscard]] const std::vector<std::int32_t>& column_order() const { return singletons_.column_order(); }
  [[nodiscard]] std::vector<std::int32_t> rows_without_pivot() const {
    return singletons_.without_pivot(row_order());
  }
  [[nodiscard]] std::vector<std::int32_t> columns_without_pivot() const {
    return singletons_.without_pivot(column_order());
  }
  /// Pivots that are alone in their row or column.
  [[nodiscard]] std::int64_t singletons() const { return core_.singletons.count(); }
  /// Whether the rank is that of the pattern.
  [[nodiscard]] bool has_structural_rank() const {
    return fronts_.facts().rank == core_.diagonal.structural_rank;
  }

  [[nodiscard]] std::int64_t scratch_size(int columns) const { return fronts_.scratch_size(columns); }
  void substitute(bool transposed, int columns, T* x, T* scratch) const;

  [[nodiscard]] CostPrediction predicted_cost() const { return fronts_.predicted_cost(); }
  [[nodiscard]] std::size_t bytes() const;
  void release_factors() { fronts_.release_factors(); }

 private:
  void set_scaling(const Csr<T>& A);

  PivotedFactorization<T> fronts_;
  Core<T> core_;
  Scaling scaling_;
  SingletonFactors<T> singletons_;
};

}  // namespace echelon::sparse_direct

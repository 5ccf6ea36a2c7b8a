// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/multifrontal/fronts/unpack.hpp"
#include "sparse_direct/multifrontal/pivoted_factorization.hpp"
#include "sparse_direct/ordering/ordering.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/methods/sparse_lu.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::sparse_direct {

/// Adds facts about fronts that were made after a matching to an outcome with the statistics of the fronts.
inline void add_front_statistics(Outcome& outcome, const LargeDiagonal& diagonal) {
  outcome.statistics.insert(outcome.statistics.begin(),
                            {"factorization", std::string(to_string(LuFactorization::multifrontal))});
  outcome.statistics.insert(outcome.statistics.end(),
                            {{"scaling", std::string(to_string(diagonal.kind))},
                             {"row_exchanges", std::string(diagonal.permuted ? "matching" : "none")}});
}

/// Multifrontal LU factorisation after a matching of rows to columns.
template <class T>
class FrontLu {
 public:
  FrontLu(const Device& device, double threshold) : fronts_(device, threshold) {}

  /// Takes the matching and the scaling of A; lays out the fronts, unless `same_pattern` and the matching is
  /// that of the last analysis.
  void analyze(const Csr<T>& A, LargeDiagonal diagonal, const OrderingOptions& ordering, bool same_pattern);
  /// Scales new values to infinity norm 1.
  void adapt_to_values(const Csr<T>& A);
  /// Whether adapt_to_values() takes another kind of scaling than the present one, so that the pivots of both
  /// do not compare.
  [[nodiscard]] bool changes_kind_of_scaling() const { return diagonal_.kind != ScalingKind::infinity_norm; }

  [[nodiscard]] PivotedFactorization<T>& fronts() { return fronts_; }
  [[nodiscard]] const PivotedFactorization<T>& fronts() const { return fronts_; }
  [[nodiscard]] const PanelLayout& layout() const { return fronts_.layout(); }
  [[nodiscard]] const LargeDiagonal& diagonal() const { return diagonal_; }
  [[nodiscard]] const Scaling& scaling() const { return diagonal_.scaling; }
  [[nodiscard]] const std::vector<std::int32_t>& row_order() const { return fronts_.row_order(); }
  [[nodiscard]] const std::vector<std::int32_t>& column_order() const { return fronts_.column_order(); }

  [[nodiscard]] std::int64_t scratch_size(int columns) const { return fronts_.scratch_size(columns); }
  void substitute(bool transposed, int columns, T* x, T* scratch) const {
    fronts_.substitute(transposed, columns, x, scratch);
  }

  [[nodiscard]] DeterminantProduct determinant() const;
  [[nodiscard]] MatrixFactors<T> factors() const;
  [[nodiscard]] CostPrediction predicted_cost() const { return fronts_.predicted_cost(); }
  [[nodiscard]] std::size_t bytes() const {
    return fronts_.bytes() + (scaling().rows.size() + scaling().columns.size()) * sizeof(double);
  }
  void release_factors() { fronts_.release_factors(); }

 private:
  PivotedFactorization<T> fronts_;
  LargeDiagonal diagonal_;
};

}  // namespace echelon::sparse_direct

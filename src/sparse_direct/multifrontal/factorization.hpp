// SPDX-License-Identifier: BSD-3-Clause
/// Multifrontal factorisation on the host: A = L L^T, L D L^T or P A Q = L U, of all rows or of those outside
/// of a border, on several threads.
#pragma once

#include "solver/implementation.hpp"
#include "sparse_direct/multifrontal/fronts/factors.hpp"
#include "sparse_direct/multifrontal/fronts/panel_layout.hpp"
#include "sparse_direct/multifrontal/host/factorization.hpp"
#include "sparse_direct/multifrontal/host/substitution.hpp"
#include "sparse_direct/multifrontal/host/tree_schedule.hpp"
#include "support/setup_control.hpp"

#include <echelon/array.hpp>
#include <echelon/device.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace echelon::sparse_direct {

/// Order of use: analyze(), factor() or partial() for every change of values, substitute() any number of
/// times afterwards. The bits do not depend on the number of threads.
template <class T>
class MultifrontalFactorization {
 public:
  /// `device`: the host, which gives the number of threads.
  explicit MultifrontalFactorization(const Device& device) : device_(device) {}

  /// Lays out the factorisation of A with an assembly tree. For FactorKind::lu that is the tree of
  /// P A + (P A)^T: row k of P A is row row_permutation[k] of A; empty: the identity.
  void analyze(SymbolicFactor tree, FactorKind kind, const Csr<T>& A,
               std::span<const std::int32_t> row_permutation = {});
  /// Adds to the predicted memory what fronts take for these columns, which cannot be eliminated before a
  /// root.
  void expect_delays(std::span<const std::int32_t> columns);
  /// Releases the memory of the layout and of the factors.
  void release();
  void release_factors() { factors_ = {}; }

  [[nodiscard]] const PanelLayout& layout() const { return layout_; }
  /// Memory that factor() takes, if no more pivots are delayed than expected.
  [[nodiscard]] const FactorMemory& predicted_memory() const { return predicted_; }
  [[nodiscard]] CostPrediction predicted_cost() const {
    return {layout_.factor_flops(), predicted_.factor_bytes};
  }
  /// Outcome out_of_memory if the factors and the working memory exceed the available memory; otherwise
  /// empty. `what` begins the message: "the factorisation".
  [[nodiscard]] std::optional<Outcome> lack_of_memory(const std::string& what) const;

  /// Factors the matrix with these values, in the places of the CSR arrays of the analysed A. `thresholds`:
  /// of lu and ldlt. Throws OutOfMemory.
  FactorResult factor(const ScaledValues<T>& values, const PivotThresholds<T>& thresholds,
                      const SetupControl& control);
  /// factor() for a tree with a border, whose rows are not eliminated: `complement` becomes the Schur
  /// complement of the border, column-major, with the elements of A in the border's rows and columns; the
  /// lower triangle unless the kind is lu.
  FactorResult partial(const ScaledValues<T>& values, const PivotThresholds<T>& thresholds,
                       const SetupControl& control, Array<T>& complement);

  [[nodiscard]] const MultifrontalFactors<T>& factors() const { return factors_; }
  [[nodiscard]] const FactorFacts& facts() const { return factors_.facts; }
  /// Rows and columns of A in the order of their pivots, then those without pivot, then those of the border.
  [[nodiscard]] const std::vector<std::int32_t>& row_order() const { return factors_.row_order; }
  [[nodiscard]] const std::vector<std::int32_t>& column_order() const { return factors_.column_order; }

  /// Elements of the scratch memory of a substitution with `columns` right-hand sides, of at most
  /// `columns_at_once`.
  [[nodiscard]] std::int64_t scratch_size(int columns) const;
  /// See sparse_direct::substitute().
  void substitute(bool transposed, int columns, T* x, T* scratch,
                  SubstitutionHalves halves = SubstitutionHalves::both) const;

  /// Facts about the analysis and the factors, under the names of the report.
  [[nodiscard]] std::vector<Statistic> statistics() const;
  [[nodiscard]] std::size_t bytes() const { return factors_.bytes() + layout_.bytes(); }

 private:
  Device device_;
  PanelLayout layout_;
  TreeSchedule schedule_;
  SubstitutionSchedule substitution_;
  FactorMemory predicted_;
  MultifrontalFactors<T> factors_;
};

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
// Sparse LU factorisation as a Solver.
#include "solver/instantiate.hpp"
#include "sparse_direct/multifrontal/pivoting_solver.hpp"

#include <echelon/methods/sparse_lu.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace sparse_direct;

template <class B, class T>
class LuSolver final : public PivotingSolver<B, T> {
  using Base = PivotingSolver<B, T>;

 public:
  LuSolver(const Device& device, const SparseLuOptions& options)
      : Base(device, {options.ordering, options.refine, options.condition}, options.threshold) {}

  [[nodiscard]] std::size_t bytes() const override { return Base::bytes() + reduced_.bytes(); }

 private:
  /// Matches large elements to the diagonal. Rows and columns that no matching covers make A singular
  /// whatever its values: they are replaced by rows and columns of the identity, with right-hand sides of
  /// zero.
  void analyze_matrix(const Csr<T>& A, bool same_pattern) override {
    LargeDiagonal diagonal = large_diagonal(A);
    const bool same = same_pattern && diagonal.row_permutation == diagonal_.row_permutation &&
                      diagonal.unmatched_columns == diagonal_.unmatched_columns;
    diagonal_ = std::move(diagonal);
    reduce(A);
    set_scale(diagonal_.scaling);
    if (!same) lay_out_matrix(A);
  }

  void lay_out_matrix(const Csr<T>& A) {
    AnalysisOptions analysis;
    analysis.ordering = {.ordering = this->common_options().ordering, .threads = this->threads()};
    const Csr<T>& matrix = matrix_to_factor(A);
    const PatternStorage pattern = symmetrized_pattern(matrix, diagonal_.row_permutation);
    this->lay_out_fronts(analyze_symmetric(pattern.view(), analysis), FactorKind::lu, matrix,
                         diagonal_.row_permutation);
  }

  void adapt_to_values(const Csr<T>& A) override {
    diagonal_.scaling = infinity_norm_scaling(A);
    diagonal_.kind = ScalingKind::infinity_norm;
    reduce(A);
    set_scale(diagonal_.scaling);
  }

  Outcome factor_values(const Csr<T>& A) override {
    if (std::optional<Outcome> lack = this->check_memory()) return *lack;
    Outcome outcome = this->factor_and_assess(matrix_to_factor(A));
    if (outcome.status == Status::cancelled) return outcome;
    if (!diagonal_.unmatched_columns.empty() && this->factors_.facts.rank < A.rows()) {
      outcome = factor_unreduced(A);
      if (outcome.status == Status::cancelled || outcome.status == Status::out_of_memory) return outcome;
    }
    this->complete(outcome, diagonal_.unmatched_rows, diagonal_.unmatched_columns,
                   this->factors_.facts.rank == A.rows());
    outcome.statistics.insert(outcome.statistics.end(),
                              {{"scaling", std::string(to_string(diagonal_.kind))},
                               {"row_exchanges", std::string(diagonal_.permuted ? "matching" : "none")}});
    this->add_pivot_statistics(outcome);
    return outcome;
  }

  /// Factors all of a structurally singular A, for the rows and columns of the matching are dependent, too:
  /// other columns may be needed for a solution.
  Outcome factor_unreduced(const Csr<T>& A) {
    diagonal_.unmatched_rows.clear();
    diagonal_.unmatched_columns.clear();
    reduced_ = {};
    set_scale(infinity_norm_scaling(A));
    diagonal_.kind = ScalingKind::infinity_norm;
    lay_out_matrix(A);
    if (std::optional<Outcome> lack = this->check_memory()) return *lack;
    return this->factor_and_assess(A);
  }

  /// A, unless it is structurally singular.
  [[nodiscard]] const Csr<T>& matrix_to_factor(const Csr<T>& A) const {
    return diagonal_.unmatched_columns.empty() ? A : reduced_;
  }
  void reduce(const Csr<T>& A) {
    reduced_ = {};
    if (!diagonal_.unmatched_columns.empty()) {
      reduced_ = with_identity_in(A, diagonal_.unmatched_columns, diagonal_.row_permutation);
    }
  }
  void set_scale(Scaling scaling) {
    for (const std::int32_t row : diagonal_.unmatched_rows) scaling.rows[row] = 1;
    for (const std::int32_t column : diagonal_.unmatched_columns) scaling.columns[column] = 1;
    this->scale_of_factors_ = {std::move(scaling.rows), std::move(scaling.columns)};
    this->scale_ = this->scale_of_factors_;
    for (const std::int32_t row : diagonal_.unmatched_rows) this->scale_.rows[row] = 0;
  }

  LargeDiagonal diagonal_;
  Csr<T> reduced_;  // of a structurally singular A
};

}  // namespace

template <>
struct MethodWith<SparseLuOptions> {
  template <class B, class T>
  using Type = LuSolver<B, T>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const SparseLuOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const SparseLuOptions&);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
// Sparse LU factorisation as a Solver.
#include "solver/instantiate.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/multifrontal/singular.hpp"
#include "sparse_direct/multifrontal/solver.hpp"

#include <echelon/methods/sparse_lu.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace sparse_direct;

template <class B, class T>
class LuSolver final : public MultifrontalSolver<B, T> {
  using Base = MultifrontalSolver<B, T>;

 public:
  LuSolver(const Device& device, const SparseLuOptions& options)
      : Base(device, {options.ordering, options.refine, options.condition}), threshold_(options.threshold) {}

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

  [[nodiscard]] bool analysis_depends_on_values() const override { return true; }

  void adapt_to_values(const Csr<T>& A) override {
    diagonal_.scaling = infinity_norm_scaling(A);
    diagonal_.kind = ScalingKind::infinity_norm;
    reduce(A);
    set_scale(diagonal_.scaling);
  }

  Outcome factor_values(const Csr<T>& A) override {
    if (std::optional<Outcome> lack = this->check_memory()) return *lack;
    rank_description_.clear();
    Outcome outcome = factor_and_assess(A);
    if (outcome.status == Status::cancelled) return outcome;
    if (!diagonal_.unmatched_columns.empty() && this->factors_.facts.rank < A.rows()) {
      outcome = factor_unreduced(A);
      if (outcome.status == Status::cancelled) return outcome;
    }
    if (rank() < A.rows()) {
      rank_description_ = rank_description();
      outcome = {Status::singular, rank_description_};
    }
    outcome.rank = rank();
    outcome.statistics = this->statistics();
    add_pivot_statistics(outcome);
    return outcome;
  }

  /// Factors with every pivot that is not exactly zero first. If that makes A singular to working precision,
  /// a second factorisation delays columns at the level of rounding errors to the root, where they decide the
  /// rank; the same where perturbed pivots did not do. They tell nothing about the condition number of A.
  Outcome factor_and_assess(const Csr<T>& A) {
    const Csr<T>& matrix = matrix_to_factor(A);
    const std::vector<T> values = scaled_values(matrix);
    if (factor_scaled(values, 0)) return cancelled_factorisation();
    const FactorFacts& facts = this->factors_.facts;
    const bool perturbed = facts.perturbed_pivots > 0;
    Outcome outcome;
    if (facts.rank == A.rows() && !perturbed) outcome = assess(matrix);
    if (outcome.status == Status::singular || facts.rank < A.rows() ||
        (perturbed && !(this->test_factors() <= acceptable_test_error))) {
      if (factor_scaled(values, null_pivot_tolerance<T>(A.rows()))) return cancelled_factorisation();
    }
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
    return factor_and_assess(A);
  }

  [[nodiscard]] bool needs_assessment() const override { return !rank_description_.empty(); }
  [[nodiscard]] Outcome assess_solution(const T* b, const T* x, const T* r) const override {
    return assess_singular(this->matrix(), b, x, r, rank(), rank_description_);
  }

  [[nodiscard]] std::int64_t rank() const {
    return this->factors_.facts.rank - std::ssize(diagonal_.unmatched_columns);
  }
  /// Rows and columns without a pivot: by structure, and those that the factorisation found.
  [[nodiscard]] std::string rank_description() const {
    const MultifrontalFactors<T>& factors = this->factors_;
    std::vector<std::int32_t> rows = diagonal_.unmatched_rows;
    std::vector<std::int32_t> columns = diagonal_.unmatched_columns;
    const bool structural = factors.facts.rank == factors.n;
    rows.insert(rows.end(), factors.row_order.begin() + factors.facts.rank, factors.row_order.end());
    columns.insert(columns.end(), factors.column_order.begin() + factors.facts.rank,
                   factors.column_order.end());
    return describe_rank(factors.n, std::move(rows), std::move(columns), structural);
  }

  /// True when it was cancelled.
  bool factor_scaled(const std::vector<T>& values, double smallest) {
    const T threshold = static_cast<T>(threshold_);
    constexpr double least = 0.01;  // of the threshold, where the alternative is to delay the column
    const PivotThresholds<T> thresholds{threshold, static_cast<T>(least * threshold_),
                                        static_cast<T>(smallest), 0};
    return this->factor_with(values.data(), thresholds).end == FactorEnd::cancelled;
  }

  Outcome assess(const Csr<T>& matrix) const {
    if (!this->common_options().condition) return {};
    return assess_condition<T>(this->estimate_condition(matrix, scale_of_factors_));
  }

  void add_pivot_statistics(Outcome& outcome) const {
    const FactorFacts& facts = this->factors_.facts;
    outcome.statistics.insert(
        outcome.statistics.end(),
        {{"scaling", std::string(to_string(diagonal_.kind))},
         {"row_exchanges", std::string(diagonal_.permuted ? "matching" : "none")},
         {"delayed_pivots", facts.delayed_pivots},
         {"perturbed_pivots", facts.perturbed_pivots},
         {"pivot_growth", largest_scaled_ > 0 ? facts.largest_element / largest_scaled_ : 1.0}});
    if (facts.perturbed_pivots > 0) {
      outcome.warnings.push_back(std::to_string(facts.perturbed_pivots) +
                                 " pivots were too small for their fronts and replaced by larger ones; "
                                 "refinement has to make up for that");
    }
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
    scale_of_factors_ = {std::move(scaling.rows), std::move(scaling.columns)};
    this->scale_ = scale_of_factors_;
    for (const std::int32_t row : diagonal_.unmatched_rows) this->scale_.rows[row] = 0;
  }
  [[nodiscard]] std::vector<T> scaled_values(const Csr<T>& matrix) {
    std::vector<T> values(static_cast<std::size_t>(matrix.nonzeros()));
    const auto& [rows, columns] = scale_of_factors_;
    for (std::int64_t i = 0; i < matrix.rows(); ++i) {
      for (std::int64_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
        values[static_cast<std::size_t>(k)] = static_cast<T>(
            rows[i] * static_cast<double>(matrix.values()[k]) * columns[matrix.column_indices()[k]]);
      }
    }
    largest_scaled_ = 0;
    for (const T value : values)
      largest_scaled_ = std::max(largest_scaled_, std::fabs(static_cast<double>(value)));
    return values;
  }

  static constexpr double acceptable_test_error =
      100 * static_cast<double>(std::numeric_limits<T>::epsilon());

  double threshold_;
  LargeDiagonal diagonal_;
  ScaleFactors scale_of_factors_;
  Csr<T> reduced_;                // of a structurally singular A
  double largest_scaled_ = 0;     // magnitude of the scaled elements
  std::string rank_description_;  // empty unless A is singular
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

// SPDX-License-Identifier: BSD-3-Clause
/// Base of the factorisations with numerical pivoting: scaling, singular matrices, and facts about pivots.
#pragma once

#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/multifrontal/singular.hpp"
#include "sparse_direct/multifrontal/solver.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

template <class B, class T>
class PivotingSolver : public MultifrontalSolver<B, T> {
  using Base = MultifrontalSolver<B, T>;

 protected:
  PivotingSolver(const Device& device, const MultifrontalOptions& options, double threshold)
      : Base(device, options), threshold_(threshold) {}

  [[nodiscard]] bool analysis_depends_on_values() const override { return true; }

  /// Factors with every pivot that is not exactly zero at first. If the factors make A singular to working
  /// precision, a second factorisation delays columns at the level of rounding errors to the root, where they
  /// decide the rank; so does one after perturbed pivots that were not accurate enough. Such pivots give no
  /// estimate of the condition number of A.
  Outcome factor_and_assess(const Csr<T>& matrix) {
    rank_description_.clear();
    if (factor_scaled(matrix, scale_of_factors_, 0)) return cancelled_factorization();
    const FactorFacts& facts = this->fronts_.facts();
    const bool perturbed = facts.perturbed_pivots > 0;
    Outcome outcome;
    if (facts.rank == matrix.rows() && !perturbed) {
      outcome = assess(matrix, pivot_ratio(this->fronts_.factors(), [](std::int64_t) { return 1.0; }));
    }
    if (outcome.status == Status::singular || facts.rank < matrix.rows() ||
        (perturbed && !(this->test_factors() <= acceptable_test_error))) {
      if (factor_scaled(matrix, scale_of_factors_, null_pivot_tolerance<T>(matrix.rows())))
        return cancelled_factorization();
    }
    return outcome;
  }

  /// Factors with columns whose pivots are at most `smallest` delayed to the root, where they decide the
  /// rank. Returns true when cancelled.
  bool factor_with_smallest_pivot(const Csr<T>& matrix, double smallest) {
    return factor_scaled(matrix, scale_of_factors_, smallest);
  }

  /// Whether the factors describe A: refined solutions are accurate after perturbed pivots, and columns
  /// without a pivot, of which it tests at most 4, are combinations of the others.
  [[nodiscard]] bool are_trustworthy(const Csr<T>& matrix) const {
    constexpr std::int64_t most_columns = 4;
    const FactorFacts& facts = this->fronts_.facts();
    const std::int64_t end = std::min(matrix.rows(), facts.rank + most_columns);
    for (std::int64_t k = facts.rank; k < end; ++k) {
      if (!this->is_dependent(this->fronts_.column_order()[static_cast<std::size_t>(k)])) return false;
    }
    return facts.rank < matrix.rows() || facts.perturbed_pivots == 0 ||
           this->test_factors() <= acceptable_test_error;
  }

  /// The condition number, if it is to be estimated; `ratio`: of the pivots.
  [[nodiscard]] Outcome assess(const Csr<T>& matrix, double ratio) {
    if (!this->common_options().condition) return {};
    return assess_condition<T>(this->reciprocal_condition(matrix, scale_of_factors_, ratio));
  }

  /// Factors a part of A, whose other elements are eliminated, with columns at the level of rounding errors
  /// delayed to the root, where they decide the rank. Returns true when cancelled.
  bool factor_for_rank(const Csr<T>& part, const Scaling& scaling) {
    rank_description_.clear();
    return factor_scaled(part, scaling, null_pivot_tolerance<T>(part.rows()));
  }

  /// Completes the outcome of a set-up. `rows` and `columns` are dependent by structure and were not
  /// factored; `structural` if there are no others. Without fronts, everything else has been eliminated.
  void complete(Outcome& outcome, std::vector<std::int32_t> rows, std::vector<std::int32_t> columns,
                bool structural) {
    const MultifrontalFactors<T>& factors = this->fronts_.factors();
    rows.insert(rows.end(), factors.row_order.begin() + factors.facts.rank, factors.row_order.end());
    columns.insert(columns.end(), factors.column_order.begin() + factors.facts.rank,
                   factors.column_order.end());
    complete_rank(outcome, std::move(rows), std::move(columns), structural);
  }

  /// Completes the outcome of a set-up from all rows and columns without a pivot.
  void complete_rank(Outcome& outcome, std::vector<std::int32_t> rows, std::vector<std::int32_t> columns,
                     bool structural) {
    const std::int64_t n = this->matrix().rows();
    rank_ = n - std::ssize(rows);
    rank_description_.clear();
    if (rank_ < n) {
      rank_description_ = describe_dependence(n, std::move(rows), std::move(columns), structural);
      outcome = {Status::singular, rank_description_};
    }
    outcome.rank = rank_;
    outcome.statistics = this->fronts_.statistics();
  }

  /// Appends whether the rank is the exact one, which is worth a word where it is not full or was doubtful.
  static void add_certainty(Outcome& outcome, bool proven) {
    outcome.statistics.push_back({"rank_certainty", std::string(proven ? "proven" : "to working precision")});
  }

  /// Appends facts about the pivots.
  void add_pivot_statistics(Outcome& outcome) const {
    const FactorFacts& facts = this->fronts_.facts();
    outcome.statistics.insert(
        outcome.statistics.end(),
        {{"delayed_pivots", facts.delayed_pivots},
         {"perturbed_pivots", facts.perturbed_pivots},
         {"pivot_growth", largest_scaled_ > 0 ? facts.largest_element / largest_scaled_ : 1.0}});
    if (facts.perturbed_pivots > 0) {
      outcome.warnings.push_back(std::to_string(facts.perturbed_pivots) +
                                 " pivots were too small for their fronts and replaced by larger ones; "
                                 "refinement has to make up for that");
    }
  }

  [[nodiscard]] double threshold() const { return threshold_; }

  Scaling scale_of_factors_;  // where scale_ has zeros for equations that are left out, others

 private:
  [[nodiscard]] bool needs_assessment() const override { return !rank_description_.empty(); }
  [[nodiscard]] Outcome assess_solution(const Csr<T>& matrix, const T* b, const T* x,
                                        const T* r) const override {
    return assess_singular(matrix, b, x, r, rank_, rank_description_);
  }

  /// Factors the scaled matrix. Returns true when cancelled.
  bool factor_scaled(const Csr<T>& matrix, const Scaling& scale, double smallest) {
    constexpr double least = 0.01;  // of the threshold, where the alternative is to delay the column
    const PivotThresholds<T> thresholds{static_cast<T>(threshold_), static_cast<T>(least * threshold_),
                                        static_cast<T>(smallest), 0};
    const ScaledValues<T> values{matrix.values().data(), scale.rows.data(), scale.columns.data()};
    largest_scaled_ = 0;
    for (std::int64_t i = 0; i < matrix.rows(); ++i) {
      for (std::int64_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
        const T element = values.at(k, i, matrix.column_indices()[k]);
        largest_scaled_ = std::max(largest_scaled_, std::fabs(static_cast<double>(element)));
      }
    }
    return this->factor_with(values, thresholds).end == FactorEnd::cancelled;
  }

  static constexpr double acceptable_test_error =
      100 * static_cast<double>(std::numeric_limits<T>::epsilon());

  double threshold_;
  double largest_scaled_ = 0;  // magnitude of the scaled elements
  std::int64_t rank_ = 0;
  std::string rank_description_;  // empty unless A is singular
};

}  // namespace echelon::sparse_direct

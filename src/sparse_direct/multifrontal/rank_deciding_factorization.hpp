// SPDX-License-Identifier: BSD-3-Clause
/// Base of the factorisations with numerical pivoting: singular matrices, and tests of the factors.
#pragma once

#include "exact/decide_rank.hpp"
#include "linalg/spmv/multiply.hpp"
#include "solver/factor_status.hpp"
#include "sparse_direct/matching/null_pivot.hpp"
#include "sparse_direct/multifrontal/fronts/pivot_sizes.hpp"
#include "sparse_direct/multifrontal/pivoted_factorization.hpp"
#include "sparse_direct/multifrontal/singular.hpp"
#include "sparse_direct/multifrontal/sparse_factorization.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

template <class B, class T>
class RankDecidingFactorization : public SparseFactorization<B, T> {
  using Base = SparseFactorization<B, T>;

 public:
  using Context = typename Base::Context;

 protected:
  using Base::Base;
  ~RankDecidingFactorization() = default;

  [[nodiscard]] bool analysis_depends_on_values() const override { return true; }

  /// Factors with every pivot that is not exactly zero at first. If the factors make A singular to working
  /// precision, a second factorisation delays columns at the level of rounding errors to the root, where they
  /// decide the rank; so does one after perturbed pivots that were not accurate enough. Such pivots give no
  /// estimate of the condition number of A. An A that is proven nonsingular by inspection keeps all pivots.
  Outcome factor_and_assess(const Context& context, PivotedFactorization<T>& fronts, const Scaling& scaling) {
    const Csr<T>& A = *context.A.csr();
    rank_description_.clear();
    if (!fronts.factor_scaled(A, scaling, 0, context.control)) return cancelled_factorization();
    const FactorFacts& facts = fronts.facts();
    const bool perturbed = facts.perturbed_pivots > 0;
    Outcome outcome;
    if (facts.rank == A.rows() && !perturbed) {
      outcome = assess(context, A, scaling, sizes_of_pivots(fronts).ratio());
      if (outcome.status == Status::singular && is_regular_by_inspection(context.A)) return outcome;
    }
    if (outcome.status == Status::singular || facts.rank < A.rows() ||
        (perturbed && !(test_factors(context) <= acceptable_test_error))) {
      if (!fronts.factor_scaled(A, scaling, null_pivot_tolerance<T>(A.rows()), context.control))
        return cancelled_factorization();
    }
    return outcome;
  }

  /// Whether the condition number leaves the rank open.
  [[nodiscard]] static bool is_nearly_singular(const Outcome& outcome) {
    return outcome.status == Status::singular ||
           outcome.reciprocal_condition.value_or(1) < doubtful_gap * std::numeric_limits<Real<T>>::epsilon();
  }

  /// Whether the factors describe A: refined solutions are accurate after perturbed pivots, and columns
  /// without a pivot, of which it tests at most 4, are combinations of the others.
  [[nodiscard]] static bool are_trustworthy(const Context& context, const PivotedFactorization<T>& fronts) {
    constexpr std::int64_t most_columns = 4;
    const FactorFacts& facts = fronts.facts();
    const std::int64_t n = context.A.rows();
    const std::int64_t end = std::min(n, facts.rank + most_columns);
    for (std::int64_t k = facts.rank; k < end; ++k) {
      if (!is_dependent(context, fronts.column_order()[static_cast<std::size_t>(k)])) return false;
    }
    return facts.rank < n || facts.perturbed_pivots == 0 || test_factors(context) <= acceptable_test_error;
  }

  /// Factors again where the rank of the factors is not full and leaves a doubt, with a tolerance that leaves
  /// a gap between the pivots, and where the exact rank of A is known and is another one: a smaller one, or a
  /// larger one where no tolerance leaves a gap.
  /// (Rounding errors make a product of smaller rank one of full rank; the complete pivoting of roots leaves
  /// a gap of 10^5 there in float, and of less than 300 in Hilbert's matrices.) Returns whether the rank is
  /// proven. `doubtful`: even a full rank is.
  [[nodiscard]] bool settle_rank(const Context& context, PivotedFactorization<T>& fronts,
                                 const Scaling& scaling, bool trustworthy, bool doubtful, Outcome& outcome) {
    const std::int64_t found = fronts.facts().rank;
    const std::optional<std::int64_t> exact = exact_rank(context, {found, doubtful});
    if (exact == found) return true;
    const bool larger = exact.value_or(order_of(fronts)) > found;
    if (!exact && !larger) return false;
    const bool may_have_gap = larger && !is_regular_by_inspection(context.A);
    if (may_have_gap && trustworthy && has_gap(fronts)) return false;
    if (may_have_gap && factor_with_gap(context, fronts, scaling)) return false;
    if (!exact || !factor_with_rank(context, fronts, scaling, *exact))
      outcome = factor_and_assess(context, fronts, scaling);
    return exact == fronts.facts().rank;
  }

  /// The condition number of the scaled matrix, if it is to be estimated; `ratio`: of its pivots.
  [[nodiscard]] Outcome assess(const Context& context, const Csr<T>& matrix, const Scaling& scaling,
                               double ratio) {
    if (!this->options().condition) return {};
    return assess_condition<T>(this->reciprocal_condition(context, matrix, scaling, ratio));
  }

  /// Decides the rank of fronts that factor_and_assess() has factored, and completes the outcome; it becomes
  /// that of a cancelled set-up when this is cancelled. `structural_rank`: of A. add_statistics(outcome) adds
  /// facts that precede those about the pivots.
  template <class AddStatistics>
  void decide_and_complete(const Context& context, PivotedFactorization<T>& fronts, const Scaling& scaling,
                           bool trustworthy, std::int64_t structural_rank,
                           const AddStatistics& add_statistics, Outcome& outcome) {
    const bool doubtful = !trustworthy || is_nearly_singular(outcome);
    const bool proven = settle_rank(context, fronts, scaling, trustworthy, doubtful, outcome);
    if (outcome.status == Status::cancelled) return;
    const std::int64_t rank = fronts.facts().rank;
    complete(outcome, fronts, rank == structural_rank);
    add_statistics(outcome);
    fronts.add_pivot_statistics(outcome);
    if (doubtful || rank < order_of(fronts)) add_certainty(outcome, proven);
    add_doubt(outcome, proven || rank == structural_rank, fronts);
    if (!trustworthy && !proven && !are_trustworthy(context, fronts))
      outcome.warnings.emplace_back("the factors do not describe A: answers may have large residuals");
  }

  /// Completes the outcome of a set-up by fronts that were made of all of A.
  void complete(Outcome& outcome, const PivotedFactorization<T>& fronts, bool structural) {
    const auto without_pivot = [&](const std::vector<std::int32_t>& order) {
      return std::vector<std::int32_t>(order.begin() + fronts.facts().rank, order.end());
    };
    complete(outcome, std::ssize(fronts.row_order()), without_pivot(fronts.row_order()),
             without_pivot(fronts.column_order()), structural);
    outcome.statistics = fronts.statistics();
  }

  /// Completes the outcome of a set-up from all rows and columns without a pivot; `structural` if they have
  /// none whatever the values are.
  void complete(Outcome& outcome, std::int64_t n, std::vector<std::int32_t> rows,
                std::vector<std::int32_t> columns, bool structural) {
    rank_ = n - std::ssize(rows);
    rank_description_.clear();
    if (rank_ < n) {
      rank_description_ = describe_dependence(n, std::move(rows), std::move(columns), structural);
      outcome = {Status::singular, rank_description_};
    }
    outcome.rank = rank_;
  }

  /// Adds whether the rank is the exact one, which is worth a word where it is not full or was doubtful.
  static void add_certainty(Outcome& outcome, bool proven) {
    outcome.statistics.push_back({"rank_certainty", std::string(proven ? "proven" : "to working precision")});
  }
  /// Adds that another tolerance could lead to another rank than that of the fronts, unless this is certain.
  static void add_doubt(Outcome& outcome, bool certain, const PivotedFactorization<T>& fronts) {
    if (certain || fronts.facts().rank == order_of(fronts) || has_gap(fronts)) return;
    outcome.statistics.push_back({"doubtful", std::int64_t{1}});
    outcome.warnings.push_back("the rank of A is doubtful: the smallest accepted pivot is " +
                               short_number(sizes_of_pivots(fronts).smallest()) +
                               ", the largest rejected one " + short_number(fronts.facts().largest_rejected) +
                               ", the tolerance " + short_number(null_pivot_tolerance<T>(order_of(fronts))));
  }

  [[nodiscard]] SolutionAssessment<T> assessment() const override {
    if (rank_description_.empty()) return {};
    return [this](const Csr<T>& A, const T* b, const T* x, const T* r) {
      return assess_singular(A, b, x, r, rank_, rank_description_);
    };
  }

 private:
  [[nodiscard]] static PivotSizes sizes_of_pivots(const PivotedFactorization<T>& fronts) {
    return pivot_sizes(fronts.factors(), [](std::int64_t) { return 1.0; });
  }

  /// The exact rank of A where it decides; that of a complex A is not computed.
  [[nodiscard]] static std::optional<std::int64_t> exact_rank(const Context& context,
                                                              const NumericalRank& found) {
    if constexpr (is_complex<T>) {
      return std::nullopt;
    } else {
      return decide_rank(context.A, found);
    }
  }

  [[nodiscard]] static std::int64_t order_of(const PivotedFactorization<T>& fronts) {
    return std::ssize(fronts.row_order());
  }
  /// Whether the accepted pivots are clearly larger than the rejected ones, and than the tolerance.
  [[nodiscard]] static bool has_gap(const PivotedFactorization<T>& fronts) {
    const double rejected =
        std::max(fronts.facts().largest_rejected, null_pivot_tolerance<T>(order_of(fronts)));
    return sizes_of_pivots(fronts).smallest() > doubtful_gap * rejected;
  }
  /// Factors with tolerances at which rounding errors that have grown are rejected, until the pivots have a
  /// gap; false if there is none.
  static bool factor_with_gap(const Context& context, PivotedFactorization<T>& fronts,
                              const Scaling& scaling) {
    for (const double growth : multiples_of_tolerance) {
      const double smallest = growth * null_pivot_tolerance<T>(context.A.rows());
      if (!fronts.factor_scaled(*context.A.csr(), scaling, smallest, context.control)) return false;
      if (has_gap(fronts) && are_trustworthy(context, fronts)) return true;
    }
    return false;
  }

  /// Factors with smallest pivots that give the exact rank; false if none does.
  static bool factor_with_rank(const Context& context, PivotedFactorization<T>& fronts,
                               const Scaling& scaling, std::int64_t exact) {
    constexpr double most = 1e-6;
    const Csr<T>& A = *context.A.csr();
    double smallest = exact == A.rows() ? 0 : null_pivot_tolerance<T>(A.rows());
    while (smallest < most) {
      if (!fronts.factor_scaled(A, scaling, smallest, context.control)) return false;
      if (fronts.facts().rank <= exact) return fronts.facts().rank == exact;
      smallest = std::max(4 * smallest, static_cast<double>(std::numeric_limits<Real<T>>::epsilon()) / 16);
    }
    return false;
  }

  static constexpr double acceptable_test_error =
      100 * static_cast<double>(std::numeric_limits<Real<T>>::epsilon());

  /// Normwise backward error of the refined solution for b = A e, e of ones: a test of the factors.
  [[nodiscard]] static double test_factors(const Context& context) {
    const auto n = static_cast<std::size_t>(context.A.rows());
    std::vector<T> x(n, T{1});
    std::vector<T> b(n, T{0});
    multiply(context.backend, T{1}, context.A, x.data(), T{0}, b.data());
    context.solve(b.data(), x.data());
    return context.backward_error(b.data(), x.data());
  }

  /// Whether column j of A is a combination of the columns with a pivot: whether the refined solution for it
  /// as the right-hand side, with zeros in the unknowns without a pivot, satisfies every equation to within
  /// rounding errors.
  [[nodiscard]] static bool is_dependent(const Context& context, std::int64_t j) {
    const Csr<T>& A = *context.A.csr();
    const auto n = static_cast<std::size_t>(A.rows());
    std::vector<T> x(n, T{0});
    std::vector<T> b(n, T{0});
    std::vector<T> r(n);
    x[static_cast<std::size_t>(j)] = 1;
    multiply(context.backend, T{1}, context.A, x.data(), T{0}, b.data());
    context.solve(b.data(), x.data());
    form_residual(context.backend, A, {}, b.data(), x.data(), r.data());
    return satisfies(A, b.data(), x.data(), r.data());
  }

  std::int64_t rank_ = 0;
  std::string rank_description_;  // empty unless A is singular
};

}  // namespace echelon::sparse_direct

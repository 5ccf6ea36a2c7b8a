// SPDX-License-Identifier: BSD-3-Clause
// Sparse LU factorisation as a Solver.
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"
#include "solver/transposed.hpp"
#include "sparse_direct/left_looking/block_order.hpp"
#include "sparse_direct/left_looking/factorization.hpp"
#include "sparse_direct/left_looking/stored_zeros.hpp"
#include "sparse_direct/left_looking/substitution.hpp"
#include "sparse_direct/mapped_echelon/exact_rank.hpp"
#include "sparse_direct/multifrontal/pivoting_solver.hpp"
#include "sparse_direct/singletons/core.hpp"
#include "sparse_direct/singletons/factors.hpp"

#include <echelon/methods/sparse_lu.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

using namespace sparse_direct;

/// Entries of the factors, relative to the predicted ones, at which a left-looking factorisation is given up
/// for fronts.
constexpr double most_growth_of_entries = 4;

/// A diagonal element becomes the pivot of a left-looking factorisation if it is at least this fraction of
/// the option `threshold` times the largest element in its row.
constexpr double diagonal_preference = 0.01;

template <class B, class T>
class LuSolver final : public PivotingSolver<B, T> {
  using Base = PivotingSolver<B, T>;

 public:
  LuSolver(const Device& device, const SparseLuOptions& options)
      : Base(device, {options.ordering, options.refine, options.condition, options.condition_of_updates},
             options.threshold),
        factorization_(options.factorization) {}

  [[nodiscard]] std::size_t bytes() const override {
    return Base::bytes() + reduced_.bytes() + left_.bytes() + core_.matrix.bytes() + singletons_.bytes();
  }

  [[nodiscard]] MatrixRef<T> factored_matrix() const override {
    return this->has_matrix() ? MatrixRef<T>(this->matrix()) : MatrixRef<T>();
  }
  void solve_transposed(const Csr<T>& transpose, Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
                        std::vector<Job>& jobs) const override {
    Base::solve(this->transposed_equations(transpose), workspace, rhs, X, jobs);
  }

 private:
  [[nodiscard]] CostPrediction analyzed_cost() const override {
    if (!uses_blocks_) return Base::analyzed_cost();
    return {blocks_.flops, static_cast<std::size_t>(blocks_.entries) * (sizeof(T) + sizeof(std::int32_t))};
  }

  void analyze_matrix(const Csr<T>& A, bool same_pattern) override {
    if (!same_pattern) {
      fronts_are_quicker_ = false;
      keeps_zeros_ = false;
    }
    keeps_pivots_ = false;
    if (!analyze_blocks(A, same_pattern)) analyze_fronts(A, same_pattern);
  }

  /// Prepares a left-looking factorisation; false if fronts are wanted, or predicted to be quicker.
  bool analyze_blocks(const Csr<T>& A, bool same_pattern) {
    const bool had_blocks = same_pattern && uses_blocks_;
    uses_blocks_ = false;
    if (!may_use_blocks(A)) return false;
    drops_zeros_ = !keeps_zeros_ && has_many_zeros(A);
    const Csr<T> reduced = std::move(reduced_);
    const bool same = set_diagonal(A, large_diagonal_of_rows(A, {.good_diagonal = diagonal_threshold()}));
    if (!had_blocks || !same || !has_same_pattern(reduced, reduced_)) {
      blocks_ = block_order(matrix_to_factor(A), diagonal_.row_permutation,
                            {.ordering = this->common_options().ordering, .threads = this->threads()});
      fronts_are_quicker_ = factorization_ == LuFactorization::automatic && !has_few_flops(blocks_);
    }
    uses_blocks_ = !fronts_are_quicker_;
    if (uses_blocks_) release_fronts_and_core();
    return uses_blocks_;
  }

  [[nodiscard]] bool may_use_blocks(const Csr<T>& A) const {
    if (factorization_ != LuFactorization::automatic) return factorization_ == LuFactorization::left_looking;
    const Ordering ordering = this->common_options().ordering;
    return !fronts_are_quicker_ && (ordering == Ordering::automatic || ordering == Ordering::amd) &&
           may_have_few_flops(A);
  }

  /// Prepares fronts, for the core of A if A is structurally singular.
  void analyze_fronts(const Csr<T>& A, bool same_pattern) {
    drops_zeros_ = false;
    LargeDiagonal diagonal = large_diagonal(A);
    if (!diagonal.unmatched_columns.empty()) {
      diagonal_ = {};
      reduced_ = {};
      analyze_core_of(A, same_pattern && uses_core_);
    } else {
      const bool same = set_diagonal(A, std::move(diagonal));
      if (!same || !same_pattern || uses_core_ || this->fronts_.layout().tree.n != A.rows())
        lay_out_matrix(A);
      release_core();
    }
    blocks_ = {};
  }

  void analyze_core_of(const Csr<T>& A, bool same_pattern) {
    Core<T> core = core_of(A);
    core.diagonal.scaling = infinity_norm_scaling(core.matrix);
    const bool same = same_pattern && is_analyzed_as(core, core_);
    core_ = std::move(core);
    uses_core_ = true;
    if (same) return;
    const OrderingOptions ordering{.ordering = this->common_options().ordering, .threads = this->threads()};
    this->fronts_.analyze(analyze_core(core_, ordering), FactorKind::lu, core_.matrix,
                          core_.diagonal.row_permutation);
  }
  [[nodiscard]] static bool is_analyzed_as(const Core<T>& a, const Core<T>& b) {
    return a.singletons == b.singletons && a.diagonal.row_permutation == b.diagonal.row_permutation &&
           a.diagonal.unmatched_columns == b.diagonal.unmatched_columns &&
           has_same_pattern(a.matrix, b.matrix);
  }
  [[nodiscard]] static bool has_same_pattern(const Csr<T>& a, const Csr<T>& b) {
    return std::ranges::equal(a.row_offsets().span(), b.row_offsets().span()) &&
           std::ranges::equal(a.column_indices().span(), b.column_indices().span());
  }

  void release_core() {
    uses_core_ = false;
    core_ = {};
    singletons_ = {};
  }
  void release_fronts_and_core() {
    release_core();
    this->fronts_.release();
  }

  /// Matches large elements to the diagonal. Rows and columns that no matching covers make A singular
  /// whatever its values: they are replaced by rows and columns of the identity, with right-hand sides of
  /// zero. True if the permutation is the last one.
  bool set_diagonal(const Csr<T>& A, LargeDiagonal diagonal) {
    const bool same = diagonal.row_permutation == diagonal_.row_permutation &&
                      diagonal.unmatched_columns == diagonal_.unmatched_columns;
    diagonal_ = std::move(diagonal);
    reduce(A);
    set_scale(diagonal_.scaling);
    return same;
  }

  void lay_out_matrix(const Csr<T>& A) {
    AnalysisOptions analysis;
    analysis.ordering = {.ordering = this->common_options().ordering, .threads = this->threads()};
    if (std::ssize(this->known_minimum_degree()) == A.rows()) {
      analysis.ordering.minimum_degree = this->known_minimum_degree();
    } else if (blocks_.blocks() == 1 && blocks_.rows == permuted_rows(blocks_.columns)) {
      analysis.ordering.minimum_degree = blocks_.columns;  // known from a rejected left-looking factorisation
    }
    const PatternStorage pattern = symmetrized_pattern(A, diagonal_.row_permutation);
    this->fronts_.analyze(analyze_symmetric(pattern.view(), analysis), FactorKind::lu, A,
                          diagonal_.row_permutation);
  }

  /// The pivots of a left-looking factorisation are kept, and with them the scaling of a matching, by which
  /// they were chosen. Where an element that was left out is no longer zero, A is analysed again, and zeros
  /// are kept from then on.
  void adapt_to_values(const Csr<T>& A) override {
    if (uses_core_) return analyze_core_of(A, true);
    if (drops_zeros_ && !copy_kept_values(A, reduced_)) {
      keeps_zeros_ = true;
      return analyze_matrix(A, true);
    }
    keeps_pivots_ = uses_blocks_;
    if (!uses_blocks_) {
      diagonal_.scaling = infinity_norm_scaling(A);
      diagonal_.kind = ScalingKind::infinity_norm;
    } else if (diagonal_.kind == ScalingKind::infinity_norm) {
      diagonal_.scaling = equilibration(A);
    }
    if (!drops_zeros_) reduce(A);
    set_scale(diagonal_.scaling);
  }

  Outcome factor_values(const Csr<T>& A) override {
    bool tried_blocks = false;
    if (uses_blocks_) {
      if (std::optional<Outcome> outcome = factor_blocks(A)) return *std::move(outcome);
      tried_blocks = true;
      uses_blocks_ = false;
      this->forget_condition();
      analyze_fronts(A, false);
    }
    return factor_fronts(A, !tried_blocks);
  }

  /// Factors by blocks; empty if that failed, or if A is singular but not structurally: fronts then determine
  /// the rank.
  std::optional<Outcome> factor_blocks(const Csr<T>& A) {
    const Csr<T>& matrix = matrix_to_factor(A);
    LeftLookingOptions options{.threshold = diagonal_threshold(), .cancel = this->cancel()};
    if (factorization_ == LuFactorization::automatic) {
      options.most_entries = most_growth_of_entries * blocks_.entries;
    }
    LeftLookingEnd end = LeftLookingEnd::no_pivot;
    if (keeps_pivots_) end = refactor_left_looking(matrix, diagonal_.scaling, options, left_);
    if (end == LeftLookingEnd::no_pivot) {
      end = factor_left_looking(matrix, diagonal_.scaling, blocks_, options, left_);
    }
    if (end == LeftLookingEnd::cancelled) return cancelled_factorization();
    if (end != LeftLookingEnd::finished || !(growth() <= acceptable_growth<T>(A.rows()))) return std::nullopt;
    PivotRatio pivots;
    for (const T pivot : left_.pivot) pivots.add(std::abs(static_cast<double>(pivot)));
    Outcome outcome = this->assess(matrix, pivots.value());
    const bool doubtful = is_nearly_singular(outcome);
    if (outcome.status == Status::singular && !is_regular_triangle(matrix)) return std::nullopt;
    const std::optional<std::int64_t> exact = decide_rank(MatrixRef<T>(matrix), {A.rows(), doubtful});
    const bool proven = exact == A.rows();
    if (exact && !proven) return std::nullopt;
    this->complete(outcome, diagonal_.unmatched_rows, diagonal_.unmatched_columns, true);
    outcome.statistics = block_statistics();
    const bool deficient = outcome.rank < A.rows();
    if (doubtful || deficient)
      this->add_certainty(outcome, proven || (deficient && has_rank(A, *outcome.rank)));
    return outcome;
  }

  /// Whether the condition number leaves the rank open.
  [[nodiscard]] static bool is_nearly_singular(const Outcome& outcome) {
    constexpr double clear_gap = 1000;
    return outcome.status == Status::singular ||
           outcome.reciprocal_condition.value_or(1) < clear_gap * std::numeric_limits<T>::epsilon();
  }
  /// Whether A is triangular without a zero on its diagonal: nothing else shows without an elimination.
  [[nodiscard]] static bool is_regular_triangle(const Csr<T>& A) {
    constexpr double no_elimination = std::numeric_limits<double>::infinity();
    return decide_rank(MatrixRef<T>(A), {A.rows(), true}, no_elimination).has_value();
  }
  /// Whether the exact rank of A is known to be this one, which is not full.
  [[nodiscard]] static bool has_rank(const Csr<T>& A, std::int64_t rank) {
    return decide_rank(MatrixRef<T>(A), {rank, false}) == rank;
  }
  /// Factors by fronts. Where they do not describe A, a left-looking factorisation is tried in their place if
  /// `may_try_blocks`: pivots that fronts have to reject need not depend on others.
  Outcome factor_fronts(const Csr<T>& A, bool may_try_blocks) {
    left_ = {};
    if (std::optional<Outcome> lack = this->check_memory()) return *lack;
    if (uses_core_) return factor_core(A);
    Outcome outcome = this->factor_and_assess(A);
    if (outcome.status == Status::cancelled) return outcome;
    const bool trustworthy = this->are_trustworthy(A);
    if (!trustworthy && may_try_blocks) {
      if (std::optional<Outcome> by_blocks = factor_by_blocks_instead(A)) return *std::move(by_blocks);
      return factor_fronts(A, false);
    }
    const std::int64_t found = this->fronts_.facts().rank;
    const bool doubtful = !trustworthy || is_nearly_singular(outcome);
    const std::optional<std::int64_t> exact = decide_rank(MatrixRef<T>(A), {found, doubtful});
    const bool wrong = exact && (*exact < found || (*exact > found && !trustworthy));
    if (wrong && !factor_with_rank(A, *exact)) {
      outcome = this->factor_and_assess(A);
      if (outcome.status == Status::cancelled) return outcome;
    }
    const std::int64_t rank = this->fronts_.facts().rank;
    this->complete(outcome, {}, {}, false);
    add_front_statistics(outcome, diagonal_);
    if (doubtful || rank < A.rows()) this->add_certainty(outcome, exact == rank);
    return outcome;
  }

  /// Factors A left-looking after fronts have failed; empty, with fronts laid out again, if that fails too.
  std::optional<Outcome> factor_by_blocks_instead(const Csr<T>& A) {
    release_fronts_and_core();  // their rank says nothing
    drops_zeros_ = false;
    set_diagonal(A, large_diagonal_of_rows(A, {.good_diagonal = diagonal_threshold()}));
    blocks_ = block_order(A, diagonal_.row_permutation,
                          {.ordering = this->common_options().ordering, .threads = this->threads()});
    uses_blocks_ = true;
    keeps_pivots_ = false;
    this->forget_condition();
    if (std::optional<Outcome> outcome = factor_blocks(A)) {
      outcome->warnings.emplace_back(
          "the multifrontal factorisation rejected pivots that do not depend on others: factored "
          "left-looking "
          "instead");
      return outcome;
    }
    uses_blocks_ = false;
    this->forget_condition();
    analyze_fronts(A, false);
    return std::nullopt;
  }

  /// Factors by fronts with smallest pivots that give the exact rank; false if none does.
  bool factor_with_rank(const Csr<T>& A, std::int64_t exact) {
    constexpr double most = 1e-6;
    double smallest = this->fronts_.facts().rank < exact ? 0 : null_pivot_tolerance<T>(A.rows());
    while (smallest < most) {
      if (this->factor_with_smallest_pivot(A, smallest)) return false;
      if (this->fronts_.facts().rank <= exact) return this->fronts_.facts().rank == exact;
      smallest = std::max(4 * smallest, static_cast<double>(std::numeric_limits<T>::epsilon()) / 16);
    }
    return false;
  }

  /// Factors the core of a structurally singular A, and decides the rank.
  Outcome factor_core(const Csr<T>& A) {
    if (this->factor_for_rank(core_.matrix, core_.diagonal.scaling)) return cancelled_factorization();
    const MultifrontalFactors<T>& factors = this->fronts_.factors();
    const Singletons& order = core_.singletons;
    set_scale(scaling_around_core(A));
    singletons_ = SingletonFactors<T>(A, order, this->scale_.rows, this->scale_.columns, factors.row_order,
                                      factors.column_order, factors.facts.rank);
    Outcome outcome;
    this->complete_rank(outcome, singletons_.without_pivot(singletons_.row_order()),
                        singletons_.without_pivot(singletons_.column_order()),
                        factors.facts.rank == core_.diagonal.structural_rank);
    add_front_statistics(outcome, core_.diagonal);
    outcome.statistics.push_back({"singletons", order.count()});
    if (outcome.rank < A.rows()) {
      this->add_certainty(outcome, has_rank(A, *outcome.rank));
    }
    return outcome;
  }

  /// Scaling of the core for its rows and columns, and rows of the singletons to a largest element of 1.
  [[nodiscard]] Scaling scaling_around_core(const Csr<T>& A) const {
    const auto n = static_cast<std::size_t>(A.rows());
    const Singletons& order = core_.singletons;
    Scaling scaling{std::vector<double>(n, 1), std::vector<double>(n, 1)};
    for (std::int64_t k = 0; k < order.core_size(); ++k) {
      scaling.rows[order.rows[order.core_begin + k]] = core_.diagonal.scaling.rows[k];
      scaling.columns[order.columns[order.core_begin + k]] = core_.diagonal.scaling.columns[k];
    }
    for (std::int64_t k = 0; k < order.end; ++k) {
      if (k == order.core_begin) k = order.core_end;
      if (k == order.end) break;
      const std::int32_t i = order.rows[k];
      double largest = 0;
      for (std::int64_t p = A.row_offsets()[i]; p < A.row_offsets()[i + 1]; ++p) {
        const double magnitude = std::fabs(static_cast<double>(A.values()[p]));
        largest = std::max(largest, magnitude * scaling.columns[A.column_indices()[p]]);
      }
      if (std::isfinite(1 / largest)) scaling.rows[i] = 1 / largest;
    }
    return scaling;
  }

  void add_front_statistics(Outcome& outcome, const LargeDiagonal& diagonal) const {
    outcome.statistics.insert(outcome.statistics.begin(),
                              {"factorization", std::string(to_string(LuFactorization::multifrontal))});
    const ScalingKind kind = uses_core_ ? ScalingKind::infinity_norm : diagonal.kind;
    outcome.statistics.insert(outcome.statistics.end(),
                              {{"scaling", std::string(to_string(kind))},
                               {"row_exchanges", std::string(diagonal.permuted ? "matching" : "none")}});
    this->add_pivot_statistics(outcome);
  }

  [[nodiscard]] std::vector<Statistic> block_statistics() const {
    return {{"factorization", std::string(to_string(LuFactorization::left_looking))},
            {"ordering", blocks_.ordering},
            {"blocks", blocks_.blocks()},
            {"largest_block", blocks_.largest_block()},
            {"factor_entries", left_.entries()},
            {"factor_flops", left_.flops},
            {"factor_bytes", static_cast<std::int64_t>(left_.bytes())},
            {"scaling", std::string(to_string(diagonal_.kind))},
            {"row_exchanges", std::string(diagonal_.permuted ? "matching" : "none")},
            {"column_exchanges", left_.exchanges},
            {"pivot_growth", growth()}};
  }
  [[nodiscard]] double growth() const {
    return left_.largest_given > 0 ? left_.largest_element / left_.largest_given : 1;
  }
  [[nodiscard]] double diagonal_threshold() const { return diagonal_preference * this->threshold(); }

  [[nodiscard]] const std::vector<std::int32_t>& row_order() const override {
    if (uses_core_) return singletons_.row_order();
    return uses_blocks_ ? left_.row_order : Base::row_order();
  }
  [[nodiscard]] const std::vector<std::int32_t>& column_order() const override {
    if (uses_core_) return singletons_.column_order();
    return uses_blocks_ ? left_.column_order : Base::column_order();
  }
  [[nodiscard]] std::int64_t scratch_size(int columns) const override {
    return uses_blocks_ ? 0 : Base::scratch_size(columns);
  }
  void apply_inverse(bool transposed, int columns, T* x, T* scratch) const override {
    if (uses_blocks_) {
      substitute(left_, transposed, columns, x);
    } else if (uses_core_) {
      singletons_.substitute(transposed, columns, x,
                             [&](T* core) { Base::apply_inverse(transposed, columns, core, scratch); });
    } else {
      Base::apply_inverse(transposed, columns, x, scratch);
    }
  }

  /// Rows that are matched to these columns.
  [[nodiscard]] std::vector<std::int32_t> permuted_rows(std::vector<std::int32_t> columns) const {
    for (std::int32_t& column : columns) column = diagonal_.row_permutation[column];
    return columns;
  }

  /// Matrix to factor by blocks: A, or the reduced matrix if A is structurally singular or has many zeros.
  [[nodiscard]] const Csr<T>& matrix_to_factor(const Csr<T>& A) const {
    return diagonal_.unmatched_columns.empty() && !drops_zeros_ ? A : reduced_;
  }
  void reduce(const Csr<T>& A) {
    reduced_ = {};
    if (!diagonal_.unmatched_columns.empty()) {
      drops_zeros_ = false;
      reduced_ = with_identity_in(A, diagonal_.unmatched_columns, diagonal_.row_permutation);
    } else if (drops_zeros_) {
      reduced_ = without_zeros(A);
    }
  }
  void set_scale(Scaling scaling) {
    for (const std::int32_t row : diagonal_.unmatched_rows) scaling.rows[row] = 1;
    for (const std::int32_t column : diagonal_.unmatched_columns) scaling.columns[column] = 1;
    this->scale_of_factors_ = std::move(scaling);
    this->scale_ = this->scale_of_factors_;
    for (const std::int32_t row : diagonal_.unmatched_rows) this->scale_.rows[row] = 0;
  }

  LuFactorization factorization_;
  bool uses_blocks_ = false;         // for a left-looking factorisation
  bool fronts_are_quicker_ = false;  // for the analysed pattern
  bool keeps_pivots_ = false;
  bool drops_zeros_ = false;  // of a left-looking factorisation
  bool keeps_zeros_ = false;  // since other values of the pattern are no zeros
  LargeDiagonal diagonal_;
  Csr<T> reduced_;          // of an A that is factored by blocks, structurally singular or with zeros
  bool uses_core_ = false;  // of a structurally singular A that is factored by fronts
  Core<T> core_;
  SingletonFactors<T> singletons_;
  BlockOrder blocks_;
  LeftLookingFactors<T> left_;
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

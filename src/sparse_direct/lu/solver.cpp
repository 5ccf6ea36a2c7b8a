// SPDX-License-Identifier: BSD-3-Clause
// Sparse LU factorisation on the host: by blocks, by fronts, or by singletons and fronts for what they leave.
#include "exact/decide_rank.hpp"
#include "solver/direct/direct_method.hpp"
#include "solver/factor_status.hpp"
#include "solver/instantiate.hpp"
#include "sparse_direct/left_looking/block_order.hpp"
#include "sparse_direct/lu/blocks.hpp"
#include "sparse_direct/lu/core.hpp"
#include "sparse_direct/lu/fronts.hpp"
#include "sparse_direct/matching/large_diagonal.hpp"
#include "sparse_direct/matching/null_pivot.hpp"
#include "sparse_direct/multifrontal/rank_deciding_factorization.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/sparse_lu.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
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

/// Whether the exact rank of A is known to be this one, which is not full.
template <class T>
bool has_rank(const Csr<T>& A, std::int64_t rank) {
  return decide_rank(MatrixRef<T>(A), {rank, false}) == rank;
}
/// Order of the pivots of a matched A, if the order of its blocks is one: a single block, with rows in the
/// order of the columns that they are matched to.
std::span<const std::int32_t> order_of_pivots(const BlockOrder& order, const LargeDiagonal& diagonal) {
  if (order.blocks() != 1) return {};
  for (std::size_t k = 0; k < order.rows.size(); ++k) {
    if (order.rows[k] != diagonal.row_permutation[order.columns[k]]) return {};
  }
  return order.columns;
}

template <class B, class T>
class SparseLuFactorization final : public RankDecidingFactorization<B, T> {
  using Base = RankDecidingFactorization<B, T>;
  using Context = typename Base::Context;

 public:
  SparseLuFactorization(const Device& device, const SparseLuOptions& options)
      : Base(device, SparseOptions::of(options)),
        kind_(options.factorization),
        threshold_(options.threshold),
        factors_(std::in_place_type<FrontLu<T>>, device, options.threshold) {}

  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    return of_regular_pattern([](const auto& factors) { return factors.determinant(); });
  }
  [[nodiscard]] MatrixFactors<T> factors(B& /*backend*/) const {
    return of_regular_pattern([](const auto& factors) { return factors.factors(); });
  }
  [[nodiscard]] std::size_t bytes() const {
    return std::visit([](const auto& factors) { return factors.bytes(); }, factors_);
  }

 private:
  /// Returns f(factors). CoreLu is for a pattern that was structurally singular when it was analysed; new
  /// values of stored zeros may have made A regular.
  template <class F>
  [[nodiscard]] auto of_regular_pattern(const F& f) const {
    if (const auto* const fronts = std::get_if<FrontLu<T>>(&factors_)) return f(*fronts);
    if (const auto* const blocks = std::get_if<BlockLu<T>>(&factors_)) return f(*blocks);
    throw Error("sparse-lu analysed A while it was structurally singular: call setup for the new values");
  }

  /// Chooses the factorisation of A: by blocks where that is asked for or predicted to be the quickest, else
  /// by fronts, of the core if A is structurally singular.
  void analyze_matrix(const Csr<T>& A, const AnalysisRequest& request) override {
    if (!request.same_pattern) learnt_ = {};
    if (!may_use_blocks(A, request.ordering.ordering)) return analyze_fronts(A, request, {});
    const bool had_blocks = std::holds_alternative<BlockLu<T>>(factors_);
    BlockLu<T> blocks =
        had_blocks ? std::move(std::get<BlockLu<T>>(factors_)) : BlockLu<T>(diagonal_preference * threshold_);
    OrderingOptions ordering = request.ordering;
    ordering.minimum_degree = {};  // of the whole pattern
    blocks.analyze(A, ordering, request.same_pattern && had_blocks, learnt_.keeps_zeros);
    learnt_.fronts_are_quicker = kind_ == LuFactorization::automatic && !has_few_flops(blocks.order());
    if (learnt_.fronts_are_quicker) return analyze_fronts(A, request, blocks.release_to_order());
    factors_ = std::move(blocks);
  }

  [[nodiscard]] bool may_use_blocks(const Csr<T>& A, Ordering ordering) const {
    if (kind_ != LuFactorization::automatic) return kind_ == LuFactorization::left_looking;
    return !learnt_.fronts_are_quicker && (ordering == Ordering::automatic || ordering == Ordering::amd) &&
           may_have_few_flops(A);
  }

  /// Prepares fronts, for the core of A if A is structurally singular. `rejected`: order of blocks, if one
  /// was computed.
  void analyze_fronts(const Csr<T>& A, const AnalysisRequest& request, const BlockOrder& rejected) {
    OrderingOptions ordering = request.ordering;
    LargeDiagonal diagonal = large_diagonal(A);
    if (!diagonal.unmatched_columns.empty()) {
      ordering.minimum_degree = {};
      const bool had_core = std::holds_alternative<CoreLu<T>>(factors_);
      if (!had_core) factors_.template emplace<CoreLu<T>>(this->device(), threshold_);
      return std::get<CoreLu<T>>(factors_).analyze(A, ordering, request.same_pattern && had_core);
    }
    if (std::ssize(ordering.minimum_degree) != A.rows())
      ordering.minimum_degree = order_of_pivots(rejected, diagonal);
    const bool had_fronts = std::holds_alternative<FrontLu<T>>(factors_);
    if (!had_fronts) factors_.template emplace<FrontLu<T>>(this->device(), threshold_);
    std::get<FrontLu<T>>(factors_).analyze(A, std::move(diagonal), ordering,
                                           request.same_pattern && had_fronts);
  }

  /// Where an element that blocks left out is no longer zero, A is analysed again, and zeros are kept from
  /// then on.
  void adapt_to_values(const Csr<T>& A) override {
    if (auto* core = std::get_if<CoreLu<T>>(&factors_)) {
      core->analyze(A, own_request(true).ordering, true);
    } else if (auto* fronts = std::get_if<FrontLu<T>>(&factors_)) {
      if (fronts->changes_kind_of_scaling()) this->forget_condition();
      fronts->adapt_to_values(A);
    } else if (!std::get<BlockLu<T>>(factors_).adapt_to_values(A)) {
      learnt_.keeps_zeros = true;
      analyze_matrix(A, own_request(true));
    }
  }

  [[nodiscard]] AnalysisRequest own_request(bool same_pattern) const {
    return this->request(this->options().ordering, same_pattern);
  }

  Outcome factor_values(const Context& context) override {
    if (!std::holds_alternative<BlockLu<T>>(factors_)) return factor_fronts(context, true);
    if (std::optional<Outcome> outcome = factor_blocks(context)) return *std::move(outcome);
    replace_blocks_by_fronts(*context.A.csr());
    return factor_fronts(context, false);
  }

  void replace_blocks_by_fronts(const Csr<T>& A) {
    const BlockOrder order = std::get<BlockLu<T>>(factors_).release_to_order();
    this->forget_condition();
    analyze_fronts(A, own_request(false), order);
  }

  /// Factors by blocks; empty if that failed, or if A is singular but not structurally: fronts then determine
  /// the rank.
  std::optional<Outcome> factor_blocks(const Context& context) {
    const Csr<T>& A = *context.A.csr();
    auto& blocks = std::get<BlockLu<T>>(factors_);
    const double most_entries = kind_ == LuFactorization::automatic
                                    ? most_growth_of_entries * blocks.order().entries
                                    : std::numeric_limits<double>::infinity();
    const LeftLookingEnd end = blocks.factor(A, most_entries, context.control);
    if (end == LeftLookingEnd::cancelled) return cancelled_factorization();
    if (end != LeftLookingEnd::finished || !(blocks.growth() <= acceptable_growth<T>(A.rows())))
      return std::nullopt;
    const Csr<T>& matrix = blocks.matrix(A);
    if (blocks.is_scaled_again()) this->forget_condition();
    Outcome outcome = this->assess(context, matrix, blocks.matrix_scaling(), blocks.pivot_ratio());
    const bool doubtful = this->is_nearly_singular(outcome);
    if (outcome.status == Status::singular && !is_regular_by_inspection(MatrixRef<T>(matrix)))
      return std::nullopt;
    const std::optional<std::int64_t> exact = decide_rank(MatrixRef<T>(matrix), {A.rows(), doubtful});
    const bool proven = exact == A.rows();
    if (exact && !proven) return std::nullopt;
    const LargeDiagonal& diagonal = blocks.diagonal();
    this->complete(outcome, A.rows(), diagonal.unmatched_rows, diagonal.unmatched_columns, true);
    outcome.statistics = blocks.statistics();
    const bool deficient = outcome.rank < A.rows();
    if (doubtful || deficient)
      this->add_certainty(outcome, proven || (deficient && has_rank(A, *outcome.rank)));
    return outcome;
  }

  /// Factors by fronts. Where they do not describe A, a left-looking factorisation is tried in their place if
  /// `may_try_blocks`: pivots that fronts have to reject need not depend on others.
  Outcome factor_fronts(const Context& context, bool may_try_blocks) {
    if (std::holds_alternative<CoreLu<T>>(factors_)) return factor_core(context);
    const Csr<T>& A = *context.A.csr();
    const FrontLu<T>& factors = std::get<FrontLu<T>>(factors_);
    PivotedFactorization<T>& fronts = std::get<FrontLu<T>>(factors_).fronts();
    if (std::optional<Outcome> lack = fronts.lack_of_memory("the factorisation")) return *lack;
    Outcome outcome = this->factor_and_assess(context, fronts, factors.scaling());
    if (outcome.status == Status::cancelled) return outcome;
    const bool trustworthy = this->are_trustworthy(context, fronts);
    if (!trustworthy && may_try_blocks) {
      if (std::optional<Outcome> by_blocks = factor_by_blocks_instead(context)) return *std::move(by_blocks);
      return factor_fronts(context, false);
    }
    this->decide_and_complete(
        context, fronts, factors.scaling(), trustworthy, A.rows(),
        [&](Outcome& completed) { add_front_statistics(completed, factors.diagonal()); }, outcome);
    return outcome;
  }

  /// Factors A left-looking after fronts have failed, whose rank says nothing; empty, with fronts laid out
  /// again, if that fails too.
  std::optional<Outcome> factor_by_blocks_instead(const Context& context) {
    const Csr<T>& A = *context.A.csr();
    auto& blocks = factors_.template emplace<BlockLu<T>>(diagonal_preference * threshold_);
    blocks.analyze(A, own_request(false).ordering, false, true);
    this->forget_condition();
    if (std::optional<Outcome> outcome = factor_blocks(context)) {
      outcome->warnings.emplace_back(
          "the multifrontal factorisation rejected pivots that do not depend on others: factored "
          "left-looking "
          "instead");
      return outcome;
    }
    replace_blocks_by_fronts(A);
    return std::nullopt;
  }

  /// Factors a structurally singular A, and decides the rank.
  Outcome factor_core(const Context& context) {
    const Csr<T>& A = *context.A.csr();
    auto& core = std::get<CoreLu<T>>(factors_);
    if (std::optional<Outcome> lack = core.fronts().lack_of_memory("the factorisation")) return *lack;
    if (!core.factor(A, context.control)) return cancelled_factorization();
    Outcome outcome;
    this->complete(outcome, A.rows(), core.rows_without_pivot(), core.columns_without_pivot(),
                   core.has_structural_rank());
    outcome.statistics = core.fronts().statistics();
    add_front_statistics(outcome, core.diagonal());
    core.fronts().add_pivot_statistics(outcome);
    outcome.statistics.push_back({"singletons", core.singletons()});
    if (outcome.rank < A.rows()) this->add_certainty(outcome, has_rank(A, *outcome.rank));
    return outcome;
  }

  [[nodiscard]] CostPrediction analyzed_cost() const override {
    return std::visit([](const auto& factors) { return factors.predicted_cost(); }, factors_);
  }
  [[nodiscard]] const SymbolicFactor* analyzed_tree() const override {
    if (const auto* fronts = std::get_if<FrontLu<T>>(&factors_)) return &fronts->fronts().layout().tree;
    if (const auto* core = std::get_if<CoreLu<T>>(&factors_)) return &core->fronts().layout().tree;
    return nullptr;
  }
  void release_factors() override {
    std::visit([](auto& factors) { factors.release_factors(); }, factors_);
  }

  [[nodiscard]] const std::vector<std::int32_t>& row_order() const override {
    return std::visit(
        [](const auto& factors) -> auto& { return factors.row_order(); }, factors_);
  }
  [[nodiscard]] const std::vector<std::int32_t>& column_order() const override {
    return std::visit(
        [](const auto& factors) -> auto& { return factors.column_order(); }, factors_);
  }
  [[nodiscard]] const Scaling& scaling() const override {
    return std::visit(
        [](const auto& factors) -> auto& { return factors.scaling(); }, factors_);
  }
  [[nodiscard]] std::int64_t scratch_size(int columns) const override {
    return std::visit([&](const auto& factors) { return factors.scratch_size(columns); }, factors_);
  }
  void apply_inverse(bool transposed, int columns, T* x, T* scratch) const override {
    std::visit([&](const auto& factors) { factors.substitute(transposed, columns, x, scratch); }, factors_);
  }

  /// Properties of the analysed pattern that set-ups have shown.
  struct Learnt {
    bool fronts_are_quicker = false;
    bool keeps_zeros = false;  ///< some of the values that were stored zeros are not any more
  };

  LuFactorization kind_;
  double threshold_;
  Learnt learnt_;
  std::variant<FrontLu<T>, BlockLu<T>, CoreLu<T>> factors_;
};

}  // namespace

template <>
struct MethodWith<SparseLuOptions> {
  template <class B, class T>
  using Type = DirectMethod<B, T, SparseLuFactorization<B, T>>;
};

template std::unique_ptr<SolverImplementation<float>> make_implementation<HostTarget>(const Device&,
                                                                                      const SparseLuOptions&);
template std::unique_ptr<SolverImplementation<double>> make_implementation<HostTarget>(
    const Device&, const SparseLuOptions&);

}  // namespace echelon

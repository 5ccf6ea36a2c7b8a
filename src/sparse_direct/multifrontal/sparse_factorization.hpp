// SPDX-License-Identifier: BSD-3-Clause
/// Base of the sparse factorisations on the host, as factorisations for DirectMethod.
#pragma once

#include "matrix/column_range.hpp"
#include "solver/direct/factorization.hpp"
#include "solver/direct/scales.hpp"
#include "solver/direct/updated_condition.hpp"
#include "solver/factor_status.hpp"
#include "solver/implementation.hpp"
#include "sparse_direct/matching/scaling.hpp"
#include "sparse_direct/multifrontal/componentwise_refinement.hpp"
#include "sparse_direct/multifrontal/ordered_rows.hpp"
#include "sparse_direct/multifrontal/scaled_norm.hpp"
#include "sparse_direct/symbolic/kept_analysis.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <echelon/array.hpp>
#include <echelon/error.hpp>
#include <echelon/ordering.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

/// Options that the sparse factorisations share.
struct SparseOptions {
  Ordering ordering = Ordering::automatic;
  bool condition = true;
  bool condition_of_updates = false;

  template <class MethodOptions>
  static SparseOptions of(const MethodOptions& options) {
    return {options.ordering, options.condition, options.condition_of_updates};
  }
};

/// Request for an analysis.
struct AnalysisRequest {
  OrderingOptions ordering;
  bool same_pattern = false;  ///< as that of the last analysis
};

/// Keeps the analysis of a pattern between set-ups, substitutes in the order of the pivots, and refines by
/// componentwise backward errors. A derived class has the factors.
template <class B, class T>
class SparseFactorization {
 public:
  using Context = direct::FactorContext<B, T>;
  using Element = T;
  static constexpr bool keeps_analysis = true;
  static constexpr bool takes_csr = true;
  static constexpr bool applies_columns = true;
  static constexpr bool assesses_condition = true;
  /// Right-hand sides that are solved for together: the factors are read once for all of them.
  static constexpr std::int64_t columns_at_once = 16;

  /// Memory of substitutions in progress.
  struct Space {
    Array<T> x, scratch;
    [[nodiscard]] std::size_t bytes() const { return x.bytes() + scratch.bytes(); }
  };

  SparseFactorization(const SparseFactorization&) = delete;
  SparseFactorization& operator=(const SparseFactorization&) = delete;

  Outcome analyze(const Csr<T>& A, const CancellationToken& cancel) {
    return guarded([&] { return analyze_by(A, pattern_key(A), options_.ordering, cancel); });
  }

  [[nodiscard]] double column_spread() const { return spread_of(scaling().columns); }

  /// Predicts by AMD in place of an automatic ordering, of which a set-up computes the tree again where
  /// dissection may save its own time.
  [[nodiscard]] std::optional<CostPrediction> predict_cost(const Csr<T>& A, const CancellationToken& cancel) {
    const bool automatic = options_.ordering == Ordering::automatic;
    const Outcome outcome = guarded(
        [&] { return analyze_by(A, pattern_key(A), automatic ? Ordering::amd : options_.ordering, cancel); });
    if (!outcome.ok()) return std::nullopt;
    const SymbolicFactor* const tree = analyzed_tree();
    const CostPrediction cost = analyzed_cost();
    if (automatic && tree != nullptr && pays_for_dissection(tree->n, A.nonzeros(), tree->flops))
      analysis_.keep_order_only(tree->permutation);
    return cost;
  }

  /// Factors A. A set-up uses the analysis of an equal pattern if it does not depend on values, or was made
  /// just before.
  direct::Factored factor(const Context& context) {
    return guarded([&] {
      const Csr<T>& A = *context.A.csr();
      const PatternKey key = pattern_key(A);
      cancel_ = context.control;
      const bool updates = context.same_pattern && analysis_.is_of(key);
      const bool outdated = !context.same_pattern && analysis_depends_on_values() && !analysis_.is_unused();
      if (updates) {
        adapt_to_values(A);
      } else if (!analysis_.is_of(key) || outdated) {
        renew_analysis(A, key, options_.ordering);
      }
      context.control.report(SolverPhase::analysis, 1);
      analysis_.use();
      if (!updates) condition_.forget();
      Outcome outcome = factor_values(context);
      if (condition_.is_predicted()) outcome.statistics.push_back({"condition_by_pivots", std::int64_t{1}});
      return outcome;
    });
  }

  /// X = M^-1 V for at most columns_at_once columns at a time. SystemForm::scaled is for one column in the
  /// order of the pivots, since norms do not depend on it.
  void substitute(direct::Operation operation, direct::SystemForm form, B& backend, Space& space,
                  DenseView<const T> V, DenseView<T> X) const {
    const bool transposed = operation == direct::Operation::transpose;
    if (form == direct::SystemForm::scaled) {
      if (X.data() != V.data()) std::copy_n(V.data(), V.rows(), X.data());
      return substitute_scaled(transposed, space, X.data());
    }
    const auto& in = transposed ? column_order() : row_order();
    const auto& out = transposed ? row_order() : column_order();
    const auto& [rows, columns] = scaling();
    for (std::int64_t begin = 0; begin < V.columns(); begin += columns_at_once) {
      const std::int64_t end = std::min(begin + columns_at_once, V.columns());
      const auto count = static_cast<int>(end - begin);
      fit(space, V.rows(), count);
      backend.for_each(V.rows(), TakeRows<T>{column_range(V, begin, end), in.data(),
                                             transposed ? &columns : &rows, space.x.data()});
      apply_inverse(transposed, count, space.x.data(), space.scratch.data());
      backend.for_each(V.rows(), PutRows<T>{space.x.data(), out.data(), transposed ? &rows : &columns,
                                            column_range(X, begin, end)});
    }
  }

  /// Norm of the matrix whose condition is being estimated.
  [[nodiscard]] double norm() const {
    return scaled_norm_one(*conditioned_.matrix, conditioned_.scaling->rows, conditioned_.scaling->columns);
  }

  [[nodiscard]] Space make_workspace(B& /*backend*/) const { return {}; }

  [[nodiscard]] ComponentwiseRefinement<B, T> make_policy(const direct::RefinementTask<B, T>& task) const {
    const bool transposed = task.operation == direct::Operation::transpose;
    return {task, transposed ? scaling().columns : scaling().rows, assessment()};
  }

 protected:
  SparseFactorization(const Device& device, const SparseOptions& options)
      : device_(device), options_(options) {}
  ~SparseFactorization() = default;

  virtual void analyze_matrix(const Csr<T>& A, const AnalysisRequest& request) = 0;
  [[nodiscard]] virtual bool analysis_depends_on_values() const { return false; }
  /// Cost of the factorisation that the analysis prepared.
  [[nodiscard]] virtual CostPrediction analyzed_cost() const = 0;
  /// Null without an assembly tree.
  [[nodiscard]] virtual const SymbolicFactor* analyzed_tree() const = 0;
  /// Computes again all data that depend on values, for new values in an analysed pattern.
  virtual void adapt_to_values(const Csr<T>& /*A*/) {}
  /// Factors the values of A after the analysis, and assesses the condition number.
  virtual Outcome factor_values(const Context& context) = 0;
  virtual void release_factors() = 0;
  [[nodiscard]] virtual SolutionAssessment<T> assessment() const { return {}; }

  /// Rows and columns of A in the order of their pivots.
  [[nodiscard]] virtual const std::vector<std::int32_t>& row_order() const = 0;
  [[nodiscard]] virtual const std::vector<std::int32_t>& column_order() const = 0;
  /// Scale of each row and column of A; 0 for equations that are left out.
  [[nodiscard]] virtual const Scaling& scaling() const = 0;
  /// Elements of the scratch memory that apply_inverse() takes.
  [[nodiscard]] virtual std::int64_t scratch_size(int columns) const = 0;
  /// Substitution for rows and columns in the order of their pivots.
  virtual void apply_inverse(bool transposed, int columns, T* x, T* scratch) const = 0;

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] int threads() const { return device_.threads(); }
  [[nodiscard]] const SparseOptions& options() const { return options_; }
  [[nodiscard]] AnalysisRequest request(Ordering ordering, bool same_pattern) const {
    return {{.ordering = ordering,
             .minimum_degree = analysis_.minimum_degree(),
             .threads = threads(),
             .cancel = cancel_},
            same_pattern};
  }

  /// 1 / condition number of the matrix with elements rows_i a_ij columns_j, whose pivots have this ratio. By
  /// the ratio alone after an update of values, see UpdatedCondition, unless an option asks for an estimate.
  [[nodiscard]] double reciprocal_condition(const Context& context, const Csr<T>& matrix,
                                            const Scaling& wanted, double pivot_ratio) {
    if (options_.condition_of_updates) condition_.forget();
    return condition_.value(pivot_ratio, static_cast<double>(std::numeric_limits<Real<T>>::epsilon()), [&] {
      conditioned_ = {&matrix, &wanted};
      const double estimate = context.reciprocal_condition();
      conditioned_ = {};
      return estimate;
    });
  }
  /// Has the next condition number estimated: that of other factors.
  void forget_condition() { condition_.forget(); }

 private:
  /// Matrix whose condition is being estimated.
  struct Conditioned {
    const Csr<T>* matrix = nullptr;
    const Scaling* scaling = nullptr;
  };

  Outcome analyze_by(const Csr<T>& A, const PatternKey& key, Ordering ordering,
                     const CancellationToken& cancel) {
    cancel_ = cancel;
    renew_analysis(A, key, ordering);
    return {};
  }
  void renew_analysis(const Csr<T>& A, const PatternKey& key, Ordering ordering) {
    analysis_.renew(key, [&](bool same_pattern) { analyze_matrix(A, request(ordering, same_pattern)); });
  }

  /// Returns work(). A lack of memory, or an analysis that was cancelled, becomes an outcome, and leaves the
  /// object usable.
  template <class F>
  Outcome guarded(const F& work) {
    try {
      return work();
    } catch (const OutOfMemory& error) {
      release_factors();
      return {Status::out_of_memory, error.what()};
    } catch (const AnalysisCancelled&) {
      release_factors();
      return cancelled_factorization();
    }
  }

  void fit(Space& space, std::int64_t n, int columns) const {
    const std::int64_t scratch = scratch_size(columns);
    if (space.x.size() >= n * columns && space.scratch.size() >= scratch) return;
    space = {};
    space.x = Array<T>(Device::serial(), n * columns);
    space.scratch = Array<T>(Device::serial(), scratch);
  }

  /// The factors are those of R A C for scaling(); the wanted inverse is that of (S / R) (R A C) (S' / C) for
  /// the scaling (S, S') of `conditioned_`.
  void substitute_scaled(bool transposed, Space& space, T* x) const {
    const Scaling& own = scaling();
    const Scaling& wanted = *conditioned_.scaling;
    fit(space, std::ssize(row_order()), 1);
    const auto change = [&](bool by_rows) {
      if (by_rows) return change_scale(row_order(), own.rows, wanted.rows, x);
      change_scale(column_order(), own.columns, wanted.columns, x);
    };
    change(!transposed);
    apply_inverse(transposed, 1, x, space.scratch.data());
    change(transposed);
  }

  Device device_;
  SparseOptions options_;
  KeptAnalysis analysis_;
  CancellationToken cancel_;  // of the analysis in progress
  direct::UpdatedCondition condition_;
  Conditioned conditioned_;
};

}  // namespace echelon::sparse_direct

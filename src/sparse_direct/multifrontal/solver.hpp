// SPDX-License-Identifier: BSD-3-Clause
/// Base of the multifrontal methods as solvers: analysis kept between set-ups, substitution for many
/// right-hand sides, refinement, and the estimate of the condition number.
#pragma once

#include "backend/store.hpp"
#include "linalg/condition.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/factor_status.hpp"
#include "solver/implementation.hpp"
#include "sparse_direct/multifrontal/host/factorization.hpp"
#include "sparse_direct/multifrontal/host/pivot_ratio.hpp"
#include "sparse_direct/multifrontal/host/substitution.hpp"
#include "sparse_direct/multifrontal/host/tree_schedule.hpp"
#include "sparse_direct/multifrontal/pattern_key.hpp"
#include "sparse_direct/multifrontal/refinement.hpp"
#include "sparse_direct/multifrontal/singular.hpp"
#include "support/text.hpp"

#include <echelon/error.hpp>
#include <echelon/ordering.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

/// Scale factors of rows and columns; empty: 1.
struct ScaleFactors {
  std::vector<double> rows;
  std::vector<double> columns;
};

namespace solver_detail {

inline double factor_at(const std::vector<double>& scale, std::int64_t i) {
  return scale.empty() ? 1 : scale[static_cast<std::size_t>(i)];
}

/// Row k of x, stored row by row, becomes row order[k] of B, scaled.
template <class T>
struct TakeRows {
  DenseView<const T> b;
  const std::int32_t* order;
  const std::vector<double>* scale;
  T* x;
  void operator()(std::int64_t k) const {
    const std::int64_t i = order[k];
    const T factor = static_cast<T>(factor_at(*scale, i));
    for (std::int64_t c = 0; c < b.columns(); ++c) x[k * b.columns() + c] = factor * b.column(c)[i];
  }
};

/// Row order[k] of X becomes row k of x, scaled.
template <class T>
struct PutRows {
  const T* x;
  const std::int32_t* order;
  const std::vector<double>* scale;
  DenseView<T> out;
  void operator()(std::int64_t k) const {
    const std::int64_t i = order[k];
    const T factor = static_cast<T>(factor_at(*scale, i));
    for (std::int64_t c = 0; c < out.columns(); ++c) out.column(c)[i] = factor * x[k * out.columns() + c];
  }
};

/// Columns [begin, end) of a column-major view.
template <class T>
DenseView<T> columns_of(const DenseView<T>& view, std::int64_t begin, std::int64_t end) {
  return {view.column(begin), view.rows(), end - begin, view.leading(), view.device()};
}

template <class T>
struct AddTo {
  const T* d;
  const T* x;
  T* sum;
  void operator()(std::int64_t i) const { sum[i] = x[i] + d[i]; }
};

}  // namespace solver_detail

/// Options that the multifrontal methods share.
struct MultifrontalOptions {
  Ordering ordering = Ordering::automatic;
  std::int64_t refine = 10;
  bool condition = true;
  bool condition_of_updates = false;
};

template <class B, class T>
class MultifrontalSolver : public SolverImplementation<T> {
  /// Vectors of a solve in progress, for up to columns_at_once right-hand sides.
  struct Vectors : Workspace {
    explicit Vectors(const Device& device)
        : backend(device), largest(Device::serial(), 1), error(Device::serial(), 1) {}
    void fit(std::int64_t n, std::int64_t columns, std::int64_t scratch_size) {
      if (x.size() >= n * columns && scratch.size() >= scratch_size) return;
      x = Array<T>(), residual = Array<T>(), candidate = Array<T>(), scratch = Array<T>();
      x = Array<T>(Device::serial(), n * columns);
      residual = Array<T>(Device::serial(), n * columns);
      candidate = Array<T>(Device::serial(), n * columns);
      scratch = Array<T>(Device::serial(), scratch_size);
    }
    [[nodiscard]] std::size_t bytes() const override {
      return x.bytes() + residual.bytes() + candidate.bytes() + scratch.bytes();
    }
    B backend;
    Array<T> x, residual, candidate, scratch;
    Array<Largest> largest;
    Array<BackwardError> error;
  };

 public:
  MultifrontalSolver(const Device& device, const MultifrontalOptions& options)
      : SolverImplementation<T>(device), options_(options) {}

  Outcome analyze(const MatrixRef<T>& A) final {
    return guarded([&] {
      A_ = &elements(A);
      renew_analysis(*A_, pattern_key(*A_));
      is_fresh_ = true;
      return Outcome{};
    });
  }

  /// Sets up; reuses the analysis of an equal pattern if it does not depend on values, or was made just
  /// before.
  Outcome setup(const MatrixRef<T>& A) final {
    return guarded([&] {
      A_ = &elements(A);
      const PatternKey key = pattern_key(*A_);
      if (!(key == key_) || (analysis_depends_on_values() && !is_fresh_)) renew_analysis(*A_, key);
      is_fresh_ = false;
      forget_condition();
      return factor_and_describe(*A_);
    });
  }

  Outcome update_values(const MatrixRef<T>& A) final {
    return guarded([&] {
      A_ = &elements(A);
      const PatternKey key = pattern_key(*A_);
      if (key == key_) {
        adapt_to_values(*A_);
      } else {
        renew_analysis(*A_, key);
        forget_condition();
      }
      is_fresh_ = false;
      return factor_and_describe(*A_);
    });
  }

  [[nodiscard]] std::optional<CostPrediction> predict_cost(const MatrixRef<T>& A) final {
    const bool automatic = options_.ordering == Ordering::automatic;
    if (automatic) options_.ordering = Ordering::amd;
    const Outcome outcome = analyze(A);
    if (automatic) options_.ordering = Ordering::automatic;
    if (!outcome.ok()) return std::nullopt;
    const SymbolicFactor& tree = layout_.tree;  // empty without fronts
    if (automatic && pays_for_dissection(tree.n, A_->nonzeros(), tree.flops)) {
      predicted_key_ = key_;
      key_ = {};
      minimum_degree_ = tree.permutation;
    }
    return analyzed_cost();
  }

  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const final {
    return std::make_unique<Vectors>(this->device());
  }
  [[nodiscard]] std::size_t bytes() const override {
    return factors_.bytes() + layout_.bytes() +
           (scale_.rows.size() + scale_.columns.size()) * sizeof(double) + converted_.bytes();
  }

  void solve(Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const final {
    solve(equations(), workspace, rhs, X, jobs);
  }

  /// Substitution without refinement. One column is substituted by other kernels than several.
  void apply(Workspace& workspace, const MultiVector<const T>& r, const MultiVector<T>& z,
             Operation operation) const final {
    auto& v = static_cast<Vectors&>(workspace);
    if (r.rows() == 0) return;
    const Equations own = operation == Operation::none ? equations() : transposed_equations(*A_);
    for_matrices(r, z, columns_at_once, this->device(), [&](DenseView<const T> R, DenseView<T> Z) {
      const auto columns = static_cast<int>(R.columns());
      v.fit(R.rows(), columns, scratch_size(columns));
      substitute_columns(own, v, R, Z);
    });
  }
  [[nodiscard]] OperatorTraits traits() const final {
    return {.columns_as_alone = false, .is_transposable = true};
  }

 protected:
  /// The equations of a solve: A x = b, or A^T x = b with A^T as the matrix.
  struct Equations {
    const Csr<T>& matrix;
    bool transposed;
    const std::vector<double>& row_scale;
    const std::vector<double>& column_scale;
  };
  [[nodiscard]] Equations equations() const { return {*A_, false, scale_.rows, scale_.columns}; }
  [[nodiscard]] Equations transposed_equations(const Csr<T>& transpose) const {
    return {transpose, true, scale_.columns, scale_.rows};
  }

  void solve(const Equations& equations, Workspace& workspace, DenseView<const T> rhs, DenseView<T> X,
             std::vector<Job>& jobs) const {
    auto& v = static_cast<Vectors&>(workspace);
    const std::int64_t n = rhs.rows();
    if (n == 0) return;
    for (std::int64_t begin = 0; begin < rhs.columns(); begin += columns_at_once) {
      const std::int64_t end = std::min<std::int64_t>(begin + columns_at_once, rhs.columns());
      const auto columns = static_cast<int>(end - begin);
      v.fit(n, columns, scratch_size(columns));
      solve_columns(
          equations, v, solver_detail::columns_of(rhs, begin, end), solver_detail::columns_of(X, begin, end),
          std::span(jobs).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(columns)));
    }
  }

  /// Cost of the factorisation that the analysis prepared.
  [[nodiscard]] virtual CostPrediction analyzed_cost() const {
    const double triangles = layout_.kind == FactorKind::lu ? 2 : 1;
    return {triangles * layout_.tree.flops, predicted_.factor_bytes};
  }

  /// Calls lay_out_fronts; if `same_pattern`, only when another permutation is needed.
  virtual void analyze_matrix(const Csr<T>& A, bool same_pattern) = 0;
  [[nodiscard]] virtual bool analysis_depends_on_values() const { return false; }
  /// Computes again all data that depend on values, for new values in an analysed pattern.
  virtual void adapt_to_values(const Csr<T>& /*A*/) {}
  /// Factors the values of A after the analysis.
  virtual Outcome factor_values(const Csr<T>& A) = 0;
  /// Outcome for a right-hand side, if it cannot be known from the set-up: x solves the equations up to r.
  [[nodiscard]] virtual Outcome assess_solution(const Csr<T>& /*matrix*/, const T* /*b*/, const T* /*x*/,
                                                const T* /*r*/) const {
    return {};
  }
  [[nodiscard]] virtual bool needs_assessment() const { return false; }

  // The factors, which a derived class may replace by others.
  /// Rows and columns of A in the order of their pivots.
  [[nodiscard]] virtual const std::vector<std::int32_t>& row_order() const { return factors_.row_order; }
  [[nodiscard]] virtual const std::vector<std::int32_t>& column_order() const {
    return factors_.column_order;
  }
  /// Elements of the scratch memory that apply_inverse takes.
  [[nodiscard]] virtual std::int64_t scratch_size(int columns) const {
    return substitution_scratch(factors_, substitution_, columns, threads());
  }
  /// Substitution for rows and columns in the order of their pivots.
  virtual void apply_inverse(bool transposed, int columns, T* x, T* scratch) const {
    B backend(this->device());
    const RunTeam run = [&](const std::function<void(int, int)>& part) {
      if constexpr (std::is_same_v<B, OpenMp>) {
        backend.parallel(true, part);
      } else {
        part(0, 1);
      }
    };
    sparse_direct::substitute(factors_, substitution_, run, transposed, columns, x, scratch);
  }

  /// Matrix A of the last set-up.
  [[nodiscard]] const Csr<T>& matrix() const { return *A_; }
  [[nodiscard]] bool has_matrix() const { return A_ != nullptr; }
  /// Order of AMD of the pattern in analysis, if a prediction has computed it.
  [[nodiscard]] std::span<const std::int32_t> known_minimum_degree() const { return minimum_degree_; }
  [[nodiscard]] const MultifrontalOptions& common_options() const { return options_; }
  [[nodiscard]] int threads() const { return this->device().threads(); }

  /// Completes an analysis by the layout of the fronts.
  void lay_out_fronts(SymbolicFactor tree, FactorKind kind, const Csr<T>& A,
                      std::span<const std::int32_t> row_permutation) {
    layout_ = lay_out(std::move(tree), kind, A, row_permutation);
    schedule_ = schedule_tree(layout_, threads());
    substitution_ = schedule_substitution(layout_);
    predicted_ = predict_memory<T>(layout_, schedule_, threads());
  }

  /// Adds to the predicted memory what fronts take for these columns, which cannot be eliminated before a
  /// root.
  void expect_delays(std::span<const std::int32_t> columns) {
    const SymbolicFactor& tree = layout_.tree;
    std::vector<bool> is_delayed(static_cast<std::size_t>(tree.n), false);
    for (const std::int32_t column : columns) is_delayed[column] = true;
    std::vector<std::int64_t> delayed(tree.parent.size(), 0);  // by the children of a front
    std::int64_t entries = 0;
    for (std::int64_t s = 0; s < tree.supernodes(); ++s) {
      const std::int64_t pivots = tree.pivots(s);
      std::int64_t passed = delayed[s];
      for (std::int32_t k = tree.supernode_begin[s]; k < tree.supernode_begin[s + 1]; ++k)
        passed += is_delayed[tree.permutation[k]] ? 1 : 0;
      if (delayed[s] > 0) entries += layout_.panel_entries(pivots + delayed[s], layout_.below(s));
      if (tree.parent[s] >= 0) delayed[tree.parent[s]] += passed;
    }
    predicted_.factor_bytes += static_cast<std::size_t>(entries) * sizeof(T);
  }

  void release_fronts() {
    layout_ = {};
    factors_ = {};
  }

  [[nodiscard]] FactorResult factor_with(const ScaledValues<T>& values,
                                         const PivotThresholds<T>& thresholds) {
    return factor(layout_, schedule_, values, {threads(), this->cancel(), thresholds}, factors_);
  }

  /// Outcome out_of_memory if the factors and the working memory exceed the available memory; otherwise
  /// empty.
  [[nodiscard]] std::optional<Outcome> check_memory() const {
    const std::size_t bytes = predicted_.factor_bytes + predicted_.work_bytes;
    constexpr std::size_t always_available = std::size_t{64} << 20;
    if (bytes <= always_available) return std::nullopt;
    const std::size_t available = memory(Device::serial()).available + factors_.bytes();
    if (bytes <= available) return std::nullopt;
    return Outcome{Status::out_of_memory, "the factorisation needs about " + std::to_string(bytes) +
                                              " bytes (" + std::to_string(predicted_.factor_bytes) +
                                              " for the factor), and " + std::to_string(available) +
                                              " are available"};
  }

  /// Statistics of the analysis and of the factor.
  [[nodiscard]] std::vector<Statistic> statistics() const {
    const bool both = layout_.kind == FactorKind::lu;
    const SymbolicFactor& tree = layout_.tree;
    return {{"ordering", tree.ordering},
            {"supernodes", layout_.supernodes()},
            {"largest_front", static_cast<std::int64_t>(layout_.largest_front)},
            {"factor_entries", both ? 2 * tree.factor_entries - tree.n : tree.factor_entries},
            {"factor_flops", both ? 2 * tree.flops : tree.flops},
            {"predicted_bytes", static_cast<std::int64_t>(predicted_.factor_bytes + predicted_.work_bytes)},
            {"factor_bytes", static_cast<std::int64_t>(factors_.bytes())}};
  }

  /// 1 / condition number of the matrix with elements row_scale_i a_ij column_scale_j, whose pivots have this
  /// ratio. After an update of values it is the last estimate times the change of the ratio, unless that is
  /// large, the number is near the machine epsilon, or an option asks for an estimate.
  [[nodiscard]] double reciprocal_condition(const Csr<T>& A, const ScaleFactors& scale, double ratio) {
    constexpr double largest_change = 10;
    constexpr double least = 1e5 * static_cast<double>(std::numeric_limits<T>::epsilon());
    condition_by_pivots_ = false;
    if (estimated_ && !options_.condition_of_updates) {
      const double change = ratio / estimated_->pivot_ratio;
      const double predicted = estimated_->reciprocal_condition * change;
      condition_by_pivots_ = change >= 1 / largest_change && change <= largest_change && predicted >= least;
      if (condition_by_pivots_) return std::min(predicted, 1.0);
    }
    estimated_ = {estimate_condition(A, scale), ratio};
    return estimated_->reciprocal_condition;
  }
  /// Lets the next condition number be estimated: that of other factors.
  void forget_condition() {
    estimated_.reset();
    condition_by_pivots_ = false;
  }

  /// 1 / condition number of the matrix with elements row_scale_i a_ij column_scale_j, by about ten
  /// substitutions.
  [[nodiscard]] double estimate_condition(const Csr<T>& A, const ScaleFactors& scale) const {
    const std::int64_t n = A.rows();
    Vectors v(this->device());
    v.fit(n, 1, scratch_size(1));
    const double norm = scaled_norm_one(A, scale.rows, scale.columns);
    // The factors are those of R A C for the scale_ of the solver; the wanted inverse is that of
    // (S / R) (R A C) (S' / C).
    const auto divide = [&](const std::vector<std::int32_t>& order, const std::vector<double>& wanted,
                            const std::vector<double>& used, T* x) {
      for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t i = order[static_cast<std::size_t>(k)];
        x[k] = static_cast<T>(static_cast<double>(x[k]) * solver_detail::factor_at(used, i) /
                              solver_detail::factor_at(wanted, i));
      }
    };
    return estimate_reciprocal_condition<T>(v.backend, n, norm, [&](bool transposed, T* x) {
      const auto& in = transposed ? column_order() : row_order();
      const auto& out = transposed ? row_order() : column_order();
      const auto& [rows, columns] = scale;
      divide(in, transposed ? columns : rows, transposed ? scale_.columns : scale_.rows, x);
      apply_inverse(transposed, 1, x, v.scratch.data());
      divide(out, transposed ? rows : columns, transposed ? scale_.rows : scale_.columns, x);
    });
  }

  /// Normwise backward error of the refined solution for b = A e, e of ones: a test of the factors.
  [[nodiscard]] double test_factors() const {
    const std::int64_t n = A_->rows();
    Vectors v(this->device());
    v.fit(n, 1, scratch_size(1));
    std::vector<T> x(static_cast<std::size_t>(n), T{1});
    std::vector<T> b(static_cast<std::size_t>(n), T{0});
    multiply(v.backend, T{1}, MatrixRef<T>(*A_), x.data(), T{0}, b.data());
    const Control control;
    std::vector<Job> jobs(1);
    jobs.front().control = &control;
    solve_columns(equations(), v, {b.data(), n, 1, n}, {x.data(), n, 1, n}, jobs);
    residual(equations(), v, b.data(), x.data(), v.residual.data());
    double norm = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::int64_t k = A_->row_offsets()[i]; k < A_->row_offsets()[i + 1]; ++k) {
        sum += std::fabs(static_cast<double>(A_->values()[k]));
      }
      norm = std::max(norm, sum);
    }
    const auto largest = [n](const T* y) {
      double magnitude = 0;
      for (std::int64_t i = 0; i < n; ++i)
        magnitude = std::max(magnitude, std::fabs(static_cast<double>(y[i])));
      return magnitude;
    };
    return largest(v.residual.data()) / (norm * largest(x.data()) + largest(b.data()));
  }

  /// Whether column j of A is a combination of the columns with a pivot: whether the refined solution for it
  /// as the right-hand side, with zeros in the unknowns without a pivot, satisfies every equation to within
  /// rounding errors.
  [[nodiscard]] bool is_dependent(std::int64_t j) const {
    const std::int64_t n = A_->rows();
    Vectors v(this->device());
    v.fit(n, 1, scratch_size(1));
    std::vector<T> x(static_cast<std::size_t>(n), T{0});
    std::vector<T> b(static_cast<std::size_t>(n), T{0});
    x[static_cast<std::size_t>(j)] = 1;
    multiply(v.backend, T{1}, MatrixRef<T>(*A_), x.data(), T{0}, b.data());
    const Control control;
    std::vector<Job> jobs(1);
    jobs.front().control = &control;
    solve_columns(equations(), v, {b.data(), n, 1, n}, {x.data(), n, 1, n}, jobs);
    residual(equations(), v, b.data(), x.data(), v.residual.data());
    return satisfies(*A_, b.data(), x.data(), v.residual.data());
  }

  FrontLayout layout_;
  MultifrontalFactors<T> factors_;
  ScaleFactors scale_;  // of the factored matrix

 private:
  /// Makes A available on the host in CSR form; a dense A is converted.
  const Csr<T>& elements(const MatrixRef<T>& A) {
    if (A.is_sparse()) return *A.csr();
    converted_ = to_csr(A);
    return converted_;
  }

  Outcome factor_and_describe(const Csr<T>& A) {
    Outcome outcome = factor_values(A);
    if (condition_by_pivots_) outcome.statistics.push_back({"condition_by_pivots", std::int64_t{1}});
    return outcome;
  }

  void renew_analysis(const Csr<T>& A, const PatternKey& key) {
    const bool same_pattern = key == key_;
    if (!(key == predicted_key_)) minimum_degree_ = {};
    key_ = predicted_key_ = {};
    analyze_matrix(A, same_pattern);
    minimum_degree_ = {};
    key_ = key;
  }

  /// Calls f. A lack of memory becomes an outcome, and leaves the object usable.
  template <class F>
  Outcome guarded(const F& work) {
    try {
      return work();
    } catch (const OutOfMemory& error) {
      factors_ = {};
      return {Status::out_of_memory, error.what()};
    }
  }

  /// Computes X = A^-1 B, or X = A^-T B, for a few columns, without reading the matrix of the equations.
  void substitute_columns(const Equations& equations, Vectors& v, DenseView<const T> rhs,
                          DenseView<T> X) const {
    const auto& in = equations.transposed ? column_order() : row_order();
    const auto& out = equations.transposed ? row_order() : column_order();
    const auto columns = static_cast<int>(rhs.columns());
    const std::int64_t n = rhs.rows();
    v.backend.for_each(n, solver_detail::TakeRows<T>{rhs, in.data(), &equations.row_scale, v.x.data()});
    apply_inverse(equations.transposed, columns, v.x.data(), v.scratch.data());
    v.backend.for_each(n, solver_detail::PutRows<T>{v.x.data(), out.data(), &equations.column_scale, X});
  }

  struct ColumnState {
    BackwardError error;
    std::int64_t steps = 0;
    bool finished = false;
  };

  /// Refines while the backward error exceeds the rounding errors of its computation, and halves.
  void solve_columns(const Equations& equations, Vectors& v, DenseView<const T> rhs, DenseView<T> X,
                     std::span<Job> jobs) const {
    const std::int64_t n = rhs.rows();
    substitute_columns(equations, v, rhs, X);
    std::vector<ColumnState> states(jobs.size());
    for (std::int64_t c = 0; c < rhs.columns(); ++c) {
      states[static_cast<std::size_t>(c)].error =
          residual(equations, v, rhs.column(c), X.column(c), v.residual.data() + c * n);
    }
    for (std::int64_t step = 1; step <= options_.refine; ++step) {
      if (!refine_once(equations, v, rhs, X, jobs, states)) break;
    }
    for (std::size_t c = 0; c < jobs.size(); ++c) {
      const T* b = rhs.column(static_cast<std::int64_t>(c));
      const T* x = X.column(static_cast<std::int64_t>(c));
      const double error = reported_error(equations, v, states[c].error.componentwise.value, b, x);
      jobs[c].statistics = {{"refinement_steps", states[c].steps}, {"componentwise_backward_error", error}};
      if (!needs_assessment() || jobs[c].outcome.status == Status::cancelled) continue;
      residual(equations, v, b, x, v.residual.data());
      jobs[c].outcome = assess_solution(equations.matrix, b, x, v.residual.data());
    }
  }

  /// Backward error comparable to the rounding errors of the residual, which a further step cannot halve.
  static constexpr double negligible_error = 2 * static_cast<double>(std::numeric_limits<T>::epsilon());

  /// Performs one step of refinement. Returns false if no column needs a further step.
  bool refine_once(const Equations& equations, Vectors& v, DenseView<const T> rhs, DenseView<T> X,
                   std::span<Job> jobs, std::vector<ColumnState>& states) const {
    const std::int64_t n = rhs.rows();
    std::vector<std::int64_t> active;
    for (std::int64_t c = 0; c < rhs.columns(); ++c) {
      ColumnState& state = states[static_cast<std::size_t>(c)];
      Job& job = jobs[static_cast<std::size_t>(c)];
      if (!state.finished && job.control->cancel.stop_requested()) {
        job.outcome = {Status::cancelled, "stopped by the caller before refinement"};
        state.finished = true;
      }
      if (!(state.error.componentwise.value > negligible_error)) state.finished = true;
      if (!state.finished) active.push_back(c);
    }
    if (active.empty()) return false;
    for (std::size_t a = 0; a < active.size(); ++a) {
      std::copy_n(v.residual.data() + active[a] * n, n,
                  v.candidate.data() + static_cast<std::int64_t>(a) * n);
    }
    const auto count = static_cast<std::int64_t>(active.size());
    const DenseView<T> corrections(v.candidate.data(), n, count, n);
    substitute_columns(equations, v, corrections, corrections);
    for (std::size_t a = 0; a < active.size(); ++a) {
      const std::int64_t c = active[a];
      ColumnState& state = states[static_cast<std::size_t>(c)];
      T* candidate = corrections.column(static_cast<std::int64_t>(a));
      v.backend.for_each(n, solver_detail::AddTo<T>{candidate, X.column(c), candidate});
      const BackwardError error = residual(equations, v, rhs.column(c), candidate, v.residual.data() + c * n);
      const double before = state.error.componentwise.value;
      const double after = error.componentwise.value;
      // The scaled residual converges first if unknowns differ in size by more than 1 / eps.
      const bool converges = error.scaled_residual.value <= state.error.scaled_residual.value / 2;
      state.finished = !(after <= before / 2 || converges);
      if (!(after < before || (converges && after <= 2 * before))) continue;
      state.error = error;
      ++state.steps;
      std::copy_n(candidate, n, X.column(c));
    }
    return true;
  }

  /// Computes r = b - A x for the matrix of the equations; `x_norm`, if positive, is the norm of x for
  /// ResidualElement.
  BackwardError residual(const Equations& equations, Vectors& v, const T* b, const T* x, T* r,
                         double x_norm = 0) const {
    const Csr<T>& A = equations.matrix;
    const double* row_scale = equations.row_scale.empty() ? nullptr : equations.row_scale.data();
    v.backend.reduce(A.rows(),
                     ResidualElement<T>{A.row_offsets().data(), A.column_indices().data(), A.values().data(),
                                        row_scale, b, x, r, x_norm},
                     Store<BackwardError>{v.error.data()});
    return v.backend.read(v.error.data());
  }

  /// The componentwise backward error to report, for a column whose plain one is `error`.
  double reported_error(const Equations& equations, Vectors& v, double error, const T* b, const T* x) const {
    if (error <= 10 * static_cast<double>(std::numeric_limits<T>::epsilon())) return error;
    v.backend.reduce(A_->columns(), LargestMagnitude<const T*>{x}, Store<Largest>{v.largest.data()});
    const double x_norm = v.backend.read(v.largest.data()).value;
    return residual(equations, v, b, x, v.residual.data(), x_norm).componentwise.value;
  }

  MultifrontalOptions options_;
  TreeSchedule schedule_;
  SubstitutionSchedule substitution_;
  FactorMemory predicted_;
  const Csr<T>* A_ = nullptr;
  Csr<T> converted_;
  PatternKey key_;                 // of the analysis
  PatternKey predicted_key_ = {};  // of the pattern whose order of AMD is known
  std::vector<std::int32_t> minimum_degree_;
  bool is_fresh_ = false;  // analysed, and not factored since
  /// The last estimate of a condition number, and the ratio of the pivots that it belongs to.
  struct EstimatedCondition {
    double reciprocal_condition;
    double pivot_ratio;
  };
  std::optional<EstimatedCondition> estimated_;
  bool condition_by_pivots_ = false;
};

}  // namespace echelon::sparse_direct

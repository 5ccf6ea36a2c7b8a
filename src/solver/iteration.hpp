// SPDX-License-Identifier: BSD-3-Clause
/// Base of all iterative methods: the loop around their steps, and its state on the device.
///
/// A method's scalars are in the memory of its vectors. Steps are queued without waiting, and every
/// `check_every` steps the host reads the state once. When the state stops running (converged, broken down,
/// ...), later steps change nothing, so the answer and the iteration count do not depend on `check_every`.
/// These steps still cost their full time: without a given `check_every` the host reads the state of a GPU
/// shortly before the steps that it expects to be the last.
#pragma once

#include "backend/target.hpp"
#include "linalg/spmv/multiply.hpp"
#include "linalg/spmv/row_products.hpp"
#include "solver/implementation.hpp"
#include "solver/nested_solver.hpp"
#include "solver/null_space.hpp"
#include "solver/preconditioner_option.hpp"
#include "solver/rounding_level.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace echelon {

enum class Phase : std::int32_t { running, converged, restart, limit, breakdown, not_spd, diverged };

/// State of an iteration, in the backend's memory.
struct IterationState {
  static constexpr std::int64_t history_size = 64;

  double tolerance = 0;   ///< on the residual norm
  double divergence = 0;  ///< residual norms above it, or NaN, end the iteration
  double residual = 0;    ///< ||r||_2 after `iteration` iterations
  std::int64_t iteration = 0;
  std::int64_t max_iterations = 0;
  std::int64_t inner = 0;  ///< steps since the (re)start
  Phase phase = Phase::running;
  std::int32_t padding = 0;
  double history[history_size] = {};  ///< residual after iteration k at [(k-1) % history_size]
  double alphas[history_size] = {};   ///< of iteration k at the same places, for methods that record them
  double betas[history_size] = {};
  /// Lower bound of ||A^-1||_2 for the matrix of the iteration; 0: none.
  double inverse_norm = 0;
  double condition = 0;  ///< lower bound of the preconditioned condition number; 0: none

  double rho = 0;  ///< scalars of the methods, by their usual letters
  double alpha = 0;
  double beta = 0;
  double omega = 0;

  [[nodiscard]] ECHELON_ANYWHERE bool running() const { return phase == Phase::running; }

  /// Completes an iteration with this residual norm.
  ECHELON_ANYWHERE void record(double norm) {
    history[iteration % history_size] = norm;
    ++iteration;
    ++inner;
    residual = norm;
    if (norm <= tolerance) {
      phase = Phase::converged;
    } else if (!(norm <= divergence)) {
      phase = Phase::diverged;
    } else if (iteration >= max_iterations) {
      phase = Phase::limit;
    }
  }
};

/// Ends an iteration: records ||r|| = sqrt((r, r)).
struct RecordResidual {
  IterationState* state;
  ECHELON_ANYWHERE void operator()(Sum r_r) const {
    if (state->running()) state->record(std::sqrt(r_r.value));
  }
};

/// Number of steps to queue on a GPU before the next check: three quarters of those that the mean rate of
/// convergence predicts, between 1 and 16. `iterations` have reduced the residual norm from `first` to
/// `last`.
inline std::int64_t steps_before_check(std::int64_t iterations, double first, double last, double tolerance) {
  constexpr std::int64_t most = 16;
  constexpr std::int64_t unknown = 4;  // before there is a rate
  if (iterations == 0) return unknown;
  const double predicted =
      static_cast<double>(iterations) * std::log(tolerance / last) / std::log(last / first);
  if (!(last < first && predicted < most)) return most;
  return std::max<std::int64_t>(static_cast<std::int64_t>(0.75 * predicted), 1);
}

/// Powers of two by which an iteration scales its system, (2^matrix A) y = 2^rhs r, so that squares of norms
/// neither overflow nor underflow; then x = 2^(matrix - rhs) y.
struct IterationScale {
  int matrix = 0;
  int rhs = 0;
  int preconditioned = 0;  ///< 2^preconditioned M^-1 r is about as large as r
  [[nodiscard]] double matrix_factor() const { return std::ldexp(1.0, matrix); }
};

template <class B, class T>
struct IterationWorkspace : Workspace {
  IterationWorkspace(const Device& device, std::int64_t size)
      : n(size), backend(device), state_array(device, 1), r(device, size) {}
  [[nodiscard]] std::size_t bytes() const override {
    std::size_t bytes = r.bytes() + (preconditioner ? preconditioner->bytes() : 0);
    for (const auto& workspace : others) bytes += workspace->bytes();
    return bytes;
  }
  [[nodiscard]] IterationState* state() { return state_array.data(); }

  std::int64_t n;
  B backend;
  Array<IterationState> state_array;
  IterationState host_state;  ///< copy of the state, from the last read
  Array<T> r;                 ///< b - A x at a (re)start
  std::unique_ptr<ResidualCheck<T>> residual_check;
  std::unique_ptr<Workspace> preconditioner;
  Array<T> consistent_rhs;         ///< b without its part in the null space of a singular A
  Array<double> null_space_parts;  ///< coefficients of that part, one for each null vector
  IterationScale scale;            ///< of the solve in progress
  /// Workspaces of further columns, which the first solve with several right-hand sides makes.
  std::vector<std::unique_ptr<Workspace>> others;
};

/// Epilogue of a product: y = factor A x.
template <class T>
struct StoreScaled {
  T factor;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t i, T sum) const { y[i] = factor * sum; }
};

/// Computes x *= 2^exponent, which is exact.
template <class T>
struct ScaleByPowerOfTwo {
  int exponent;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    x[i] = static_cast<T>(std::ldexp(static_cast<double>(x[i]), exponent));
  }
};

template <class B, class T>
class IterativeMethod : public SolverImplementation<T>, public PreconditionerOwner<T> {
 public:
  using SolveWorkspace = IterationWorkspace<B, T>;

  IterativeMethod(const Device& device, Stop stop) : SolverImplementation<T>(device), stop_(stop) {
    if (stop_.check_every == 0 && device.on_host()) stop_.check_every = 1;
  }
  [[nodiscard]] const Stop* stop() const override { return &stop_; }

  Outcome setup(const MatrixRef<T>& A) override {
    A_ = A;
    if (!preconditioner_) return {};
    nested().set_cancel(this->cancel());
    return preconditioner_outcome(nested().setup(A));
  }
  Outcome update_values(const MatrixRef<T>& A) override {
    A_ = A;
    if (!preconditioner_) return {};
    nested().set_cancel(this->cancel());
    return preconditioner_outcome(nested().update_values(A));
  }
  [[nodiscard]] std::size_t bytes() const override { return preconditioner_ ? nested().bytes() : 0; }
  [[nodiscard]] bool takes_operator() const override { return takes_preconditioner_; }
  [[nodiscard]] SolverImplementation<T>* named_preconditioner() const override {
    return preconditioner_ ? &nested() : nullptr;
  }
  void set_preconditioner(const Preconditioner<T>& preconditioner) override {
    if (!takes_preconditioner_) return SolverImplementation<T>::set_preconditioner(preconditioner);
    preconditioner_.reset();
    user_preconditioner_ = preconditioner;
  }

  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>& jobs) const override {
    auto& own = static_cast<SolveWorkspace&>(workspace);
    const bool together = right.columns() > 1 && iterates_together();
    const std::int64_t width = together ? static_cast<std::int64_t>(most_columns) : 1;
    for (std::int64_t first = 0; first < right.columns(); first += width) {
      const std::int64_t count = std::min(width, right.columns() - first);
      SolvedColumns columns;
      for (std::int64_t j = first; j < first + count; ++j) {
        columns.add({{&workspace_of(own, j - first), right.column(j), left.column(j)},
                     &jobs[static_cast<std::size_t>(j)]});
      }
      solve_together(columns);
    }
  }

 protected:
  /// A right-hand side and its iterate.
  struct IteratedColumn {
    SolveWorkspace* workspace;
    const T* b;
    T* x;
  };

  /// Whether several right-hand sides are iterated in one loop, by start_together() and step_together().
  [[nodiscard]] virtual bool iterates_together() const { return false; }
  virtual void start_together(std::span<const IteratedColumn> columns) const {
    for (const IteratedColumn& column : columns) start(*column.workspace, column.b, column.x);
  }
  virtual void step_together(std::span<const IteratedColumn> columns) const {
    for (const IteratedColumn& column : columns) step(*column.workspace, column.b, column.x);
  }

  /// Begins from the residual in workspace.r.
  virtual void start(SolveWorkspace& workspace, const T* b, T* x) const = 0;
  /// Queues one iteration, which ends with IterationState::record.
  virtual void step(SolveWorkspace& workspace, const T* b, T* x) const = 0;
  /// Completes x at the end of a cycle, for methods that do not update it in every step.
  virtual void finish(SolveWorkspace& /*workspace*/, T* /*x*/) const {}
  /// Whether the steps can work on a scaled system: they must use workspace.r alone, not b, and multiply by
  /// `apply_operator`.
  [[nodiscard]] virtual bool supports_scaling() const { return false; }
  /// Called after every iteration, whose coefficients are at `place` of the arrays in workspace.host_state.
  virtual void collect_coefficients(SolveWorkspace& /*workspace*/, std::int64_t /*place*/) const {}
  /// Adds to the job what the steps since the last (re)start show about the condition of A.
  virtual void estimate_condition(SolveWorkspace& /*workspace*/, Job& /*job*/) const {}

  [[nodiscard]] const MatrixRef<T>& matrix() const { return A_; }
  [[nodiscard]] bool preconditioned() const {
    return preconditioner_.has_value() || user_preconditioner_.has_value();
  }

  /// Makes the preconditioner that an option names.
  void make_preconditioner(const std::string& name, const Options& options) {
    takes_preconditioner_ = true;
    const Method* method = find_preconditioner(name, options);
    if (method != nullptr) preconditioner_ = make_solver<T>(method->name, this->device(), options);
  }

  /// Adds the residual check and the preconditioner's workspace to a workspace that a method made.
  template <class Own>
  std::unique_ptr<Workspace> complete_workspace(std::unique_ptr<Own> workspace) const {
    workspace->residual_check = make_residual_check<ThisTarget, T>(this->device());
    if (preconditioner_) workspace->preconditioner = nested().make_workspace();
    if (applies_user_solver()) workspace->preconditioner = user_solver().make_workspace();
    if (const Dense<T>* basis = null_space_basis()) {
      workspace->consistent_rhs = Array<T>(this->device(), basis->rows());
      workspace->null_space_parts = Array<double>(this->device(), basis->columns());
    }
    return workspace;
  }

  /// The preconditioner as an operator. A user's callable is assumed to be symmetric, as its interface
  /// requires.
  [[nodiscard]] AppliedOperator preconditioner_operator() const {
    const SolverImplementation<T>* method = named_preconditioner();
    if (method == nullptr && user_preconditioner_ && user_preconditioner_->solver() != nullptr) {
      method = &user_solver();
      const bool whole_solve =
          !applies_user_solver() && find_method(method->name()).kind == MethodKind::iterative;
      if (whole_solve) return AppliedOperator::varying;
    }
    const auto* own = dynamic_cast<const VariableOperator*>(method);
    return own != nullptr ? own->applied_operator() : AppliedOperator::symmetric;
  }

  /// Adds a warning if the preconditioner is a more general operator than `most`, which the method needs.
  Outcome with_operator_warning(Outcome outcome, AppliedOperator most) const {
    if (outcome.ok() && preconditioner_operator() > most) {
      outcome.warnings.push_back(
          this->name() + " needs a preconditioner that is " +
          (most == AppliedOperator::symmetric ? "a fixed symmetric operator"
                                              : "the same operator in every step") +
          ", and this one is not: use cg or gmres, whose recurrences are then flexible");
    }
    return outcome;
  }

  /// Computes y = A x for the scaled A.
  void apply_operator(SolveWorkspace& workspace, const T* x, T* y) const {
    multiply(workspace.backend, static_cast<T>(workspace.scale.matrix_factor()), A_, x, T{0}, y);
  }

  /// Computes y(column) = A x(column) for the scaled, sparse A.
  template <class X, class Y>
  void apply_operator(std::span<const IteratedColumn> columns, X x, Y y) const {
    for_column_products(
        columns.front().workspace->backend, *A_.csr(), columns, [&](const IteratedColumn& column) {
          const auto factor = static_cast<T>(column.workspace->scale.matrix_factor());
          return VectorProduct{static_cast<const T*>(x(column)), StoreScaled<T>{factor, y(column)}};
        });
  }

  /// Computes z(column) = M^-1 r for the residual of each column, if there is a preconditioner.
  template <class Z>
  void precondition(std::span<const IteratedColumn> columns, Z z) const {
    const auto* together =
        preconditioner_ ? dynamic_cast<const ColumnsPreconditioner<T>*>(&nested()) : nullptr;
    if (together == nullptr) {
      for (const IteratedColumn& column : columns) {
        precondition(*column.workspace, column.workspace->r.data(), z(column));
      }
      return;
    }
    std::array<AppliedColumn<T>, most_columns> applied{};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      SolveWorkspace& own = *columns[c].workspace;
      applied[c] = {own.preconditioner.get(), own.r.data(), z(columns[c])};
    }
    together->apply_to({applied.data(), columns.size()});
  }

  /// Computes z = M^-1 r. Returns z, or r without a preconditioner.
  const T* precondition(SolveWorkspace& workspace, const T* r, T* z) const {
    if (!preconditioned()) return r;
    if (preconditioner_) {
      nested().apply(*workspace.preconditioner, r, z);
    } else if (applies_user_solver()) {
      user_solver().apply(*workspace.preconditioner, r, z);
    } else if (user_preconditioner_->solver() != nullptr) {
      solve_with_user_solver(workspace.n, r, z);
    } else {
      user_preconditioner_->callable()(r, z);
    }
    return z;
  }

  /// Combines lower bounds of ||A^-1||_2 (of the scaled A) and of the condition number of the preconditioned
  /// A with those of earlier cycles.
  static void add_condition(const SolveWorkspace& workspace, double inverse_norm, double condition,
                            Job& job) {
    job.inverse_norm = std::max(job.inverse_norm, std::ldexp(inverse_norm, workspace.scale.matrix));
    job.preconditioned_condition = std::max(job.preconditioned_condition, condition);
  }

 private:
  [[nodiscard]] SolverImplementation<T>& nested() const {
    return SolverAccess<T>::implementation(*preconditioner_);
  }
  [[nodiscard]] SolverImplementation<T>& user_solver() const {
    return SolverAccess<T>::implementation(*user_preconditioner_->solver());
  }
  /// Whether the preconditioner is a user's solver whose single application is cheaper than a whole solve.
  [[nodiscard]] bool applies_user_solver() const {
    return user_preconditioner_ && user_preconditioner_->solver() != nullptr &&
           find_method(user_solver().name()).usable_as_preconditioner;
  }
  void solve_with_user_solver(std::int64_t n, const T* r, T* z) const {
    const Report report = user_preconditioner_->solver()->solve(
        DenseView<const T>(r, n, 1, n, this->device()), DenseView<T>(z, n, 1, n, this->device()));
    if (report.columns.empty()) throw Error("the preconditioner computed nothing: " + report.message);
  }

  /// Null space of A as far as the preconditioner, or the method itself, has found it; null for none.
  [[nodiscard]] const Dense<T>* null_space_basis() const {
    const SolverImplementation<T>* method = named_preconditioner();
    if (method == nullptr) method = this;
    const auto* finder = dynamic_cast<const NullSpaceFinder<T>*>(method);
    return finder != nullptr && finder->null_space_basis().columns() > 0 ? &finder->null_space_basis()
                                                                         : nullptr;
  }

  /// A right-hand side in the course of its solve.
  struct SolvedColumn : IteratedColumn {
    Job* job;
    double null_space_part = 0;  ///< norm of the part of b that is not in the range of A
    double norm = 0;             ///< of the residual
    bool is_running = true;      ///< in the loop that iterates all columns
  };
  class SolvedColumns {
   public:
    void add(const SolvedColumn& column) { columns_[count_++] = column; }
    [[nodiscard]] SolvedColumn* begin() { return columns_.data(); }
    [[nodiscard]] SolvedColumn* end() { return columns_.data() + count_; }

   private:
    std::array<SolvedColumn, most_columns> columns_{};
    std::size_t count_ = 0;
  };
  /// The columns that are still iterated.
  class RunningColumns {
   public:
    explicit RunningColumns(SolvedColumns& columns) {
      for (const SolvedColumn& column : columns) {
        if (column.is_running) columns_[count_++] = column;
      }
    }
    [[nodiscard]] std::span<const IteratedColumn> span() const { return {columns_.data(), count_}; }

   private:
    std::array<IteratedColumn, most_columns> columns_{};
    std::size_t count_ = 0;
  };

  /// The workspace of column `number` among those that are solved together.
  SolveWorkspace& workspace_of(SolveWorkspace& first, std::int64_t number) const {
    if (number == 0) return first;
    const auto other = static_cast<std::size_t>(number - 1);
    while (first.others.size() <= other) first.others.push_back(this->make_workspace());
    return static_cast<SolveWorkspace&>(*first.others[other]);
  }

  /// Solves all columns: in one loop until each has converged or ended otherwise, then one after another for
  /// those that have to restart. For a singular A = A^T and a b with a part in the null space, x has the
  /// least residual.
  void solve_together(SolvedColumns& columns) const {
    for (SolvedColumn& column : columns) {
      remove_null_space_part(column);
      begin(column);
    }
    const bool cancelled = iterate(columns);
    for (SolvedColumn& column : columns) {
      bool is_done = !column.is_running || is_final(column, cancelled);
      while (!is_done && may_iterate(column)) {
        SolvedColumns alone;
        alone.add(column);
        is_done = is_final(column, iterate(alone));
      }
      name_inconsistent(column);
    }
  }

  /// Replaces b by its part in the range of a singular A, if the rest exceeds the tolerance.
  void remove_null_space_part(SolvedColumn& column) const {
    const Dense<T>* basis = null_space_basis();
    if (basis == nullptr) return;
    SolveWorkspace& workspace = *column.workspace;
    T* const consistent = workspace.consistent_rhs.data();
    workspace.backend.copy(workspace.n, column.b, consistent);
    column.null_space_part =
        remove_null_space(workspace.backend, *basis, workspace.null_space_parts.data(), consistent);
    if (column.null_space_part > column.job->tolerance) column.b = consistent;
  }

  void name_inconsistent(const SolvedColumn& column) const {
    Job& job = *column.job;
    if (!(column.null_space_part > job.tolerance) || job.outcome.status == Status::cancelled) return;
    job.outcome = {Status::inconsistent,
                   "A is singular, and a part of b, " +
                       short_number(column.null_space_part / job.right_hand_side_norm) +
                       " of its norm, is in the null space of A: no x satisfies the equations; this one "
                       "satisfies them for the rest of b"};
  }

  /// Computes the first residual, and whether the column is to be iterated.
  void begin(SolvedColumn& column) const {
    SolveWorkspace& workspace = *column.workspace;
    Job& job = *column.job;
    workspace.scale = scale_of(job);
    column.norm = column.b == workspace.consistent_rhs.data()
                      ? workspace.residual_check->vector(workspace.n, column.b).norm2
                      : job.right_hand_side_norm;
    // Without a right-hand side the solution is zero for any initial guess.
    if (job.control->use_initial_guess && column.norm > 0) {
      column.norm = workspace.residual_check->residual(A_, column.b, column.x, workspace.r.data()).norm2;
    } else {
      workspace.backend.fill(workspace.n, T{0}, column.x);
      workspace.backend.copy(workspace.n, column.b, workspace.r.data());
    }
    job.history.push_back(column.norm);
    column.is_running = !(column.norm <= job.tolerance) && may_iterate(column);
  }

  /// False, with the outcome, at the limit of iterations.
  bool may_iterate(const SolvedColumn& column) const {
    if (column.job->iterations < stop_.max_iterations) return true;
    column.job->outcome = {Status::max_iterations, limit_text(column.norm, *column.job)};
    return false;
  }

  /// Computes the true residual after a cycle, and whether it is the last one, with its outcome.
  bool is_final(SolvedColumn& column, bool cancelled) const {
    SolveWorkspace& workspace = *column.workspace;
    Job& job = *column.job;
    const double before = column.norm;
    const VectorFacts residual =
        workspace.residual_check->residual(A_, column.b, column.x, workspace.r.data());
    column.norm = residual.norm2;
    if (column.norm <= job.tolerance) return true;
    job.outcome = outcome_of_cycle(cancelled, workspace.host_state.phase, before, column.norm, job);
    if (job.outcome.ok()) return false;
    if (!cancelled && accept_at_rounding_level(workspace, residual, column.x, job)) return true;
    return_zero_if_worse(workspace, column.x, column.norm, job);
    return true;
  }

  /// Scaling of a column: none unless norms are so large or small that their squares, or products with an
  /// element, could leave the range of double (of float, for elements). A preconditioned operator has been
  /// scaled by its preconditioner.
  [[nodiscard]] IterationScale scale_of(const Job& job) const {
    if (!supports_scaling() || A_.is_operator()) return {};  // products by a user's operator cannot be scaled
    constexpr double large = std::is_same_v<T, double> ? 1e60 : 1e8;
    const auto moderate = [](double norm) { return norm < large && norm > 1 / large; };
    if (moderate(job.right_hand_side_norm) && moderate(job.matrix_norm)) return {};
    if (job.right_hand_side_norm == 0 || job.matrix_norm == 0) return {};
    const int matrix = std::ilogb(job.matrix_norm);
    const int rhs = -std::ilogb(job.right_hand_side_norm);
    return preconditioned() ? IterationScale{.rhs = rhs, .preconditioned = matrix}
                            : IterationScale{.matrix = -matrix, .rhs = rhs};
  }

  void scale_by(SolveWorkspace& workspace, int exponent, T* x) const {
    if (exponent != 0) workspace.backend.for_each(workspace.n, ScaleByPowerOfTwo<T>{exponent, x});
  }

  /// Iterates the running columns from a (re)start until their states stop running; returns true if the
  /// caller requested a stop.
  bool iterate(SolvedColumns& columns) const {
    for (const SolvedColumn& column : columns) {
      if (column.is_running) begin_cycle(column);
    }
    RunningColumns running(columns);
    if (!running.span().empty()) start_running(running);
    bool cancelled = false;
    while (!running.span().empty() && !cancelled) {
      const std::int64_t steps = steps_before_check(columns);
      for (std::int64_t k = 0; k < steps; ++k) step_running(running);
      SolvedColumns continued;
      for (const SolvedColumn& column : columns) {
        if (!is_iterated(column)) continue;
        read_state(column);
        cancelled = cancelled || column.job->control->cancel.stop_requested();
        if (column.workspace->host_state.running()) continued.add(column);
      }
      running = RunningColumns(continued);
    }
    for (const SolvedColumn& column : columns) {
      if (column.is_running) end_cycle(column);
    }
    return cancelled;
  }

  /// Whether the column is in the loop and its state was running when it was last read.
  static bool is_iterated(const SolvedColumn& column) {
    return column.is_running && column.workspace->host_state.running();
  }

  void start_running(const RunningColumns& running) const {
    const std::span<const IteratedColumn> columns = running.span();
    if (columns.size() > 1) return start_together(columns);
    start(*columns.front().workspace, columns.front().b, columns.front().x);
  }
  void step_running(const RunningColumns& running) const {
    const std::span<const IteratedColumn> columns = running.span();
    if (columns.size() > 1) return step_together(columns);
    step(*columns.front().workspace, columns.front().b, columns.front().x);
  }

  /// Number of steps until the next check: the largest that a running column predicts.
  [[nodiscard]] std::int64_t steps_before_check(SolvedColumns& columns) const {
    if (stop_.check_every > 0) return stop_.check_every;
    std::int64_t steps = 1;
    for (const SolvedColumn& column : columns) {
      const Job& job = *column.job;
      if (!is_iterated(column)) continue;
      steps = std::max(steps, echelon::steps_before_check(job.iterations, job.history.front(),
                                                          job.history.back(), job.tolerance));
    }
    return steps;
  }

  /// Writes a fresh state to the device, and scales the column.
  void begin_cycle(const SolvedColumn& column) const {
    constexpr double divergence_factor = 1e10;
    SolveWorkspace& workspace = *column.workspace;
    const Job& job = *column.job;
    const int scale = workspace.scale.rhs;
    IterationState fresh;
    fresh.tolerance = std::ldexp(job.tolerance, scale);
    fresh.divergence =
        divergence_factor * std::ldexp(std::max(job.right_hand_side_norm, job.history.front()), scale);
    fresh.residual = std::ldexp(column.norm, scale);
    fresh.iteration = job.iterations;
    fresh.max_iterations = stop_.max_iterations;
    workspace.host_state = fresh;
    workspace.backend.write(fresh, workspace.state());
    scale_by(workspace, scale, workspace.r.data());
    scale_by(workspace, scale - workspace.scale.matrix, column.x);
  }

  /// Reads the state, and adds the new iterations to the job.
  void read_state(const SolvedColumn& column) const {
    SolveWorkspace& workspace = *column.workspace;
    Job& job = *column.job;
    workspace.host_state = workspace.backend.read(workspace.state());
    while (job.iterations < workspace.host_state.iteration) {
      const auto place = job.iterations % IterationState::history_size;
      job.history.push_back(std::ldexp(workspace.host_state.history[place], -workspace.scale.rhs));
      collect_coefficients(workspace, place);
      ++job.iterations;
    }
    if (!job.control->on_progress) return;
    job.control->on_progress({this->name(), job.number, job.iterations,
                              job.history.back() / job.right_hand_side_norm,
                              job.tolerance / job.right_hand_side_norm});
  }

  void end_cycle(const SolvedColumn& column) const {
    SolveWorkspace& workspace = *column.workspace;
    finish(workspace, column.x);
    scale_by(workspace, workspace.scale.matrix - workspace.scale.rhs, column.x);
    estimate_condition(workspace, *column.job);
  }

  /// Accepts an answer at the level of rounding although its residual exceeds the tolerance.
  bool accept_at_rounding_level(SolveWorkspace& workspace, const VectorFacts& residual, const T* x,
                                Job& job) const {
    const std::optional<double> error = error_at_rounding_level<T>(job, residual.norm2, [&] {
      return AnswerNorms{residual.norm_inf, workspace.residual_check->vector(workspace.n, x).norm_inf};
    });
    if (!error) return false;
    job.outcome = {Status::converged, "rounding limits the residual: " +
                                          short_number(residual.norm2 / job.right_hand_side_norm) +
                                          " relative to b is above the tolerance, but the backward error, " +
                                          short_number(*error) + ", is that of rounding A and b"};
    job.limited_by_rounding = true;
    return true;
  }

  /// Outcome of a cycle that ended without meeting the tolerance; ok means to restart from the true residual.
  Outcome outcome_of_cycle(bool cancelled, Phase phase, double before, double norm, const Job& job) const {
    const bool progress = norm < 0.5 * before;
    const std::string reached = "relative residual " + short_number(norm / job.right_hand_side_norm) +
                                " after " + std::to_string(job.iterations) + " iterations";
    if (cancelled) return {Status::cancelled, "stopped by the caller at " + reached};
    if (!std::isfinite(norm)) {
      return {Status::diverged, "x is not finite after " + std::to_string(job.iterations) + " iterations"};
    }
    switch (phase) {
      case Phase::limit:
        return {Status::max_iterations, limit_text(norm, job)};
      case Phase::diverged:
        return {Status::diverged, reached};
      case Phase::not_spd:
        return {Status::not_spd,
                "A, or the preconditioner, is not positive definite: a direction of negative or zero "
                "curvature at " +
                    reached};
      case Phase::breakdown:
        if (progress) break;
        return {Status::breakdown, "division by zero in the recurrence at " + reached};
      case Phase::converged:
        if (progress) break;
        return {Status::stagnated, "rounding errors keep the true residual from falling: " + reached};
      case Phase::restart:
        if (norm < (1 - 1e-6) * before) break;
        return {Status::stagnated, "a restart cycle did not reduce the residual: " + reached};
      case Phase::running:
        break;
    }
    return {Status::converged};
  }

  [[nodiscard]] std::string limit_text(double norm, const Job& job) const {
    return "relative residual " + short_number(norm / job.right_hand_side_norm) + " at the limit of " +
           std::to_string(stop_.max_iterations) + " iterations";
  }

  /// Replaces an iterate by zero if its residual is larger than that of x = 0.
  void return_zero_if_worse(SolveWorkspace& workspace, T* x, double norm, Job& job) const {
    if (norm <= job.right_hand_side_norm) return;
    workspace.backend.fill(workspace.n, T{0}, x);
    job.outcome.message += "; x is returned as zero, which no iterate improved on";
  }

  /// Outcome of the nested method's set-up, as part of the outcome of this method.
  Outcome preconditioner_outcome(Outcome outcome) const {
    if (!outcome.ok())
      outcome.message = "preconditioner " + preconditioner_->describe() + ": " + outcome.message;
    for (Statistic& statistic : outcome.statistics) statistic.name = "preconditioner." + statistic.name;
    return outcome;
  }

  Stop stop_;
  MatrixRef<T> A_;
  std::optional<Solver<T>> preconditioner_;               // made from the options
  std::optional<Preconditioner<T>> user_preconditioner_;  // replaces preconditioner_
  bool takes_preconditioner_ = false;
};

}  // namespace echelon

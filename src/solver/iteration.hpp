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
#include "solver/implementation.hpp"
#include "solver/nested_solver.hpp"
#include "solver/null_space.hpp"
#include "solver/preconditioner_option.hpp"
#include "support/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
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
    return r.bytes() + (preconditioner ? preconditioner->bytes() : 0);
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
    for (std::int64_t j = 0; j < right.columns(); ++j) {
      solve_column(own, right.column(j), left.column(j), jobs[static_cast<std::size_t>(j)]);
    }
  }

 protected:
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

  /// Solves one column. For a singular A = A^T and a b with a part in the null space, x has the least
  /// residual.
  void solve_column(SolveWorkspace& workspace, const T* b, T* x, Job& job) const {
    const Dense<T>* basis = null_space_basis();
    if (basis == nullptr) return solve_consistent(workspace, b, x, job);
    T* const consistent = workspace.consistent_rhs.data();
    workspace.backend.copy(workspace.n, b, consistent);
    const double part =
        remove_null_space(workspace.backend, *basis, workspace.null_space_parts.data(), consistent);
    const bool inconsistent = part > job.tolerance;
    solve_consistent(workspace, inconsistent ? consistent : b, x, job);
    if (!inconsistent || job.outcome.status == Status::cancelled) return;
    job.outcome = {Status::inconsistent,
                   "A is singular, and a part of b, " + short_number(part / job.right_hand_side_norm) +
                       " of its norm, is in the null space of A: no x satisfies the equations; this one "
                       "satisfies them for the rest of b"};
  }

  void solve_consistent(SolveWorkspace& workspace, const T* b, T* x, Job& job) const {
    B& backend = workspace.backend;
    workspace.scale = scale_of(job);
    double norm = b == workspace.consistent_rhs.data()
                      ? workspace.residual_check->vector(workspace.n, b).norm2
                      : job.right_hand_side_norm;
    // Without a right-hand side the solution is zero for any initial guess.
    if (job.control->use_initial_guess && norm > 0) {
      norm = workspace.residual_check->residual(A_, b, x, workspace.r.data()).norm2;
    } else {
      backend.fill(workspace.n, T{0}, x);
      backend.copy(workspace.n, b, workspace.r.data());
    }
    job.history.push_back(norm);
    if (norm <= job.tolerance) return;
    for (;;) {
      if (job.iterations >= stop_.max_iterations) {
        job.outcome = {Status::max_iterations, limit_text(norm, job)};
        return;
      }
      const bool cancelled = iterate(workspace, b, x, norm, job);
      const double before = norm;
      const VectorFacts residual = workspace.residual_check->residual(A_, b, x, workspace.r.data());
      norm = residual.norm2;
      if (norm <= job.tolerance) return;
      job.outcome = outcome_of_cycle(cancelled, workspace.host_state.phase, before, norm, job);
      if (job.outcome.ok()) continue;
      if (!cancelled && accept_at_rounding_level(workspace, residual, x, job)) return;
      return_zero_if_worse(workspace, x, norm, job);
      return;
    }
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

  /// Iterates from a (re)start until the state stops running; returns true if the caller requested a stop.
  bool iterate(SolveWorkspace& workspace, const T* b, T* x, double norm, Job& job) const {
    constexpr double divergence_factor = 1e10;
    const int scale = workspace.scale.rhs;
    IterationState fresh;
    fresh.tolerance = std::ldexp(job.tolerance, scale);
    fresh.divergence =
        divergence_factor * std::ldexp(std::max(job.right_hand_side_norm, job.history.front()), scale);
    fresh.residual = std::ldexp(norm, scale);
    fresh.iteration = job.iterations;
    fresh.max_iterations = stop_.max_iterations;
    workspace.host_state = fresh;
    workspace.backend.write(fresh, workspace.state());
    scale_by(workspace, scale, workspace.r.data());
    scale_by(workspace, scale - workspace.scale.matrix, x);
    start(workspace, b, x);
    bool cancelled = false;
    while (workspace.host_state.running() && !cancelled) {
      const std::int64_t steps =
          stop_.check_every > 0
              ? stop_.check_every
              : steps_before_check(job.iterations, job.history.front(), job.history.back(), job.tolerance);
      for (std::int64_t k = 0; k < steps; ++k) step(workspace, b, x);
      workspace.host_state = workspace.backend.read(workspace.state());
      while (job.iterations < workspace.host_state.iteration) {
        const auto place = job.iterations % IterationState::history_size;
        job.history.push_back(std::ldexp(workspace.host_state.history[place], -scale));
        collect_coefficients(workspace, place);
        ++job.iterations;
      }
      cancelled = job.control->cancel.stop_requested();
      if (job.control->on_progress) {
        job.control->on_progress({this->name(), job.number, job.iterations,
                                  job.history.back() / job.right_hand_side_norm,
                                  job.tolerance / job.right_hand_side_norm});
      }
    }
    finish(workspace, x);
    scale_by(workspace, workspace.scale.matrix - scale, x);
    estimate_condition(workspace, job);
    return cancelled;
  }

  /// Accepts an answer whose backward error is at the level of rounding although its residual exceeds the
  /// tolerance: no better one exists in this precision. Not applied when the tolerance is below what any x
  /// can be expected to meet, nor when the residual is large: an inconsistent system has such answers, with
  /// ||x|| near infinity.
  bool accept_at_rounding_level(SolveWorkspace& workspace, const VectorFacts& residual, const T* x,
                                Job& job) const {
    const double roundoff = std::numeric_limits<T>::epsilon();
    if (job.tolerance < roundoff * job.right_hand_side_norm) return false;
    if (!(residual.norm2 <= std::sqrt(roundoff) * job.right_hand_side_norm)) return false;
    const double x_norm = workspace.residual_check->vector(workspace.n, x).norm_inf;
    const double scale = job.matrix_norm * x_norm + job.right_hand_side_norm_inf;
    if (!(residual.norm_inf <= rounding_level<T> * scale)) return false;
    job.outcome = {
        Status::converged,
        "rounding limits the residual: " + short_number(residual.norm2 / job.right_hand_side_norm) +
            " relative to b is above the tolerance, but the backward error, " +
            short_number(residual.norm_inf / scale) + ", is that of rounding A and b"};
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

// SPDX-License-Identifier: BSD-3-Clause
/// Base of all iterative methods: the loop around their steps, and its state on the device.
///
/// A method's scalars are in the memory of its vectors. Steps are queued without waiting, and every
/// `check_every` steps the host reads the state once. When the state stops running (converged, broken down,
/// ...), later steps change nothing, so the answer and the iteration count do not depend on `check_every`.
/// These steps still cost their full time: without a given `check_every` the host reads the state of a GPU
/// shortly before the steps that it expects to be the last.
#pragma once

#include "linalg/spmv/multiply.hpp"
#include "linalg/spmv/row_products.hpp"
#include "linalg/vector/column_list.hpp"
#include "matrix/row_blocks.hpp"
#include "solver/iteration/columns.hpp"
#include "solver/iteration/outcome.hpp"
#include "solver/iteration/preconditioner.hpp"
#include "solver/iteration/state.hpp"
#include "solver/null_space.hpp"
#include "solver/progress.hpp"
#include "solver/rounding_level.hpp"
#include "support/hypotenuse.hpp"
#include "support/scalar.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

template <class B, class T>
class IterativeMethod : public SolverImplementation<T> {
 public:
  using SolveWorkspace = IterationWorkspace<B, T>;

  IterativeMethod(const Device& device, Stop stop)
      : SolverImplementation<T>(device), stop_(stop), preconditioner_(device) {
    if (stop_.check_every == 0 && device.on_host()) stop_.check_every = 1;
  }
  [[nodiscard]] const Stop* stop() const override { return &stop_; }

  Outcome setup(const MatrixRef<T>& A) override {
    set_matrix(A);
    return complete_setup(preconditioner_.setup(A, this->control()));
  }
  Outcome update_values(const MatrixRef<T>& A) override {
    set_matrix(A);
    return complete_setup(preconditioner_.update_values(A, this->control()));
  }
  [[nodiscard]] std::size_t bytes() const override { return preconditioner_.bytes(); }
  [[nodiscard]] bool takes_operator() const override { return takes_preconditioner_; }
  [[nodiscard]] SolverImplementation<T>* named_preconditioner() const override {
    return preconditioner_.named();
  }
  void set_preconditioner(const Preconditioner<T>& preconditioner) override {
    if (!takes_preconditioner_) return SolverImplementation<T>::set_preconditioner(preconditioner);
    preconditioner_.replace(preconditioner);
  }

  void solve(Workspace& workspace, DenseView<const T> right, DenseView<T> left,
             std::vector<Job>& jobs) const override {
    auto& own = static_cast<SolveWorkspace&>(workspace);
    const std::int64_t width = iterates_together() ? columns_together() : 1;
    for (std::int64_t first = 0; first < right.columns(); first += width) {
      const std::int64_t count = std::min(width, right.columns() - first);
      SolvedColumns columns;
      for (std::int64_t j = first; j < first + count; ++j) {
        Job& job = jobs[static_cast<std::size_t>(j)];
        columns.add({{&workspace_of(own, j - first), right.column(j), left.column(j)},
                     &job,
                     columns.size(),
                     iteration_tolerance<T> * job.tolerance});
      }
      solve_together(columns);
    }
  }

 protected:
  using IteratedColumn = echelon::IteratedColumn<B, T>;
  using SolvedColumn = echelon::SolvedColumn<B, T>;
  using SolvedColumns = echelon::SolvedColumns<B, T>;

  /// Completes the outcome of setup() or update_values(), when A and the preconditioner are known.
  virtual Outcome complete_setup(Outcome outcome) { return outcome; }

  /// Whether several right-hand sides are iterated in one loop, by start_together() and step_together().
  [[nodiscard]] virtual bool iterates_together() const { return false; }
  /// Maximum number of right-hand sides in one loop, at most `most_columns`.
  [[nodiscard]] virtual std::int64_t columns_together() const {
    return static_cast<std::int64_t>(usual_columns);
  }
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
  virtual void finish_together(std::span<const IteratedColumn> columns) const {
    for (const IteratedColumn& column : columns) finish(*column.workspace, column.x);
  }
  /// Completes a copy of x as finish() does, but during a cycle, whose later steps have the same bits.
  virtual void finish_copy(SolveWorkspace& workspace, T* x) const { finish(workspace, x); }

  /// Iterations of the first cycle, if later ones use another preconditioner: start() finds workspace.cycles
  /// == 1 in the first cycle. x is kept whatever the first cycle did to the residual. 0: all cycles are
  /// alike.
  [[nodiscard]] virtual std::int64_t preliminary_iterations() const { return 0; }
  /// Number of consecutive steps without progress that end a cycle; 0: no limit.
  [[nodiscard]] virtual std::int64_t idle_steps() const { return 0; }
  /// Whether A is known to be positive (semi)definite. Then a curvature that is not positive is a rounding
  /// error, at which a cycle ends, the residual of a recurrence may grow by any factor on its way, and x is
  /// returned whatever its residual: it may be accurate where that of x = 0 is smaller.
  [[nodiscard]] virtual bool is_known_definite() const { return false; }
  /// Whether a restart brings an x whose residual the steps found orthogonal to the columns of A closer to
  /// the one of least residual; workspace.r is the true residual.
  [[nodiscard]] virtual bool falls_further(SolveWorkspace& /*workspace*/, const T* /*x*/) const {
    return false;
  }
  /// p^T A p / (|p|^T |A| |p|) for the direction p at which a cycle ended with a curvature that is not
  /// positive, or its negative for a method that solves with -A; empty if it is not known.
  [[nodiscard]] virtual std::optional<double> relative_curvature(SolveWorkspace& /*workspace*/) const {
    return std::nullopt;
  }
  /// Finds the parts of the right-hand sides outside the range of a singular A. Where such a part exceeds the
  /// limit of consistency, b is replaced by the rest in workspace.consistent_rhs: x then has the least
  /// residual. Sets `tolerance` if the steps do not see these parts.
  virtual void remove_inconsistent_parts(SolvedColumns& columns) const {
    for (SolvedColumn& column : columns) remove_inconsistent_part(column);
  }
  /// Whether the steps can work on a scaled system: they must use workspace.r alone, not b, and multiply by
  /// `apply_operator`.
  [[nodiscard]] virtual bool supports_scaling() const { return false; }
  /// True if the norms that an iteration records are those of b - A x, whatever rounding did to x. They stop
  /// falling at the level of rounding.
  [[nodiscard]] virtual bool records_true_residual() const { return false; }
  /// Called after every iteration, whose coefficients are at `place` of the arrays in workspace.host_state.
  virtual void collect_coefficients(SolveWorkspace& /*workspace*/, std::int64_t /*place*/) const {}
  /// Adds to the job what the steps since the last (re)start show about the condition of A.
  virtual void estimate_condition(SolveWorkspace& /*workspace*/, const T* /*x*/, Job& /*job*/) const {}

  /// Sets the matrix of products and residuals.
  void set_matrix(const MatrixRef<T>& A) {
    A_ = A;
    if (A.is_sparse()) CsrAccess::find_stencils(*A.csr());
  }
  [[nodiscard]] const MatrixRef<T>& matrix() const { return A_; }
  [[nodiscard]] bool preconditioned() const { return preconditioner_.exists(); }

  /// Makes the preconditioner that an option names.
  void make_preconditioner(const std::string& name, const Options& options) {
    takes_preconditioner_ = true;
    preconditioner_.make(name, options);
  }

  /// Adds the residual check and the preconditioner's workspace to a workspace that a method made.
  template <class Own>
  std::unique_ptr<Workspace> complete_workspace(std::unique_ptr<Own> workspace) const {
    workspace->residual_check = make_residual_check<ThisTarget, T>(this->device());
    workspace->preconditioner = preconditioner_.make_workspace();
    if (const SolverImplementation<T>* finder = finder_of_singular()) {
      workspace->consistent_rhs = Array<T>(this->device(), A_.rows());
      workspace->null_space_parts =
          Array<double>(this->device(), std::max<std::int64_t>(finder->null_space_basis().columns(), 1));
    }
    return workspace;
  }

  [[nodiscard]] AppliedOperator preconditioner_operator() const { return preconditioner_.applied_operator(); }

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

  /// Gives the workspace of a further column the memory that all columns use together.
  virtual void share_memory(SolveWorkspace& first, SolveWorkspace& added) const {
    added.preconditioner = first.preconditioner;
  }
  /// The workspace of column `number` among those that are solved together.
  SolveWorkspace& workspace_of(SolveWorkspace& first, std::int64_t number) const {
    if (number == 0) return first;
    const auto other = static_cast<std::size_t>(number - 1);
    while (first.others.size() <= other) {
      std::unique_ptr<Workspace> added = this->make_workspace();
      share_memory(first, static_cast<SolveWorkspace&>(*added));
      first.add_column(std::move(added));
    }
    return static_cast<SolveWorkspace&>(*first.others[other]);
  }

  /// Computes y = A x for the scaled A.
  void apply_operator(SolveWorkspace& workspace, const T* x, T* y) const {
    multiply(workspace.backend, static_cast<T>(workspace.scale.matrix_factor()), A_, x, T{0}, y);
  }

  /// Whether one product of A and several vectors takes less time than one for each of them.
  [[nodiscard]] bool multiplies_columns() const {
    return A_.is_sparse() || (A_.is_operator() && A_.linear_operator()->takes_columns());
  }
  /// Computes y(column) = A x(column) for the scaled A, if multiplies_columns().
  template <class X, class Y>
  void apply_operator(std::span<const IteratedColumn> columns, X x, Y y) const {
    if (A_.is_operator()) return apply_linear_operator(columns, x, y);
    for_column_products(
        columns.front().workspace->backend, *A_.csr(), columns, [&](const IteratedColumn& column) {
          const auto factor = static_cast<T>(column.workspace->scale.matrix_factor());
          return VectorProduct{static_cast<const T*>(x(column)), StoreScaled<T>{factor, y(column)}};
        });
  }

  /// Computes y(column) = A x(column) by one product, for which the vectors are copied into a matrix.
  template <class X, class Y>
  void apply_linear_operator(std::span<const IteratedColumn> columns, X x, Y y) const {
    SolveWorkspace& first = *columns.front().workspace;
    const int count = static_cast<int>(columns.size());
    first.operands.make_room(count);
    first.products.make_room(count);
    const MultiVector<T> operands = first.operands.first(count);
    const MultiVector<T> products = first.products.first(count);
    for (int c = 0; c < count; ++c)
      first.backend.copy(A_.columns(), x(columns[static_cast<std::size_t>(c)]), operands[c]);
    A_.linear_operator()->apply(operands.matrix(0, count, this->device()),
                                products.matrix(0, count, this->device()));
    for (int c = 0; c < count; ++c)
      first.backend.copy(A_.rows(), products[c], y(columns[static_cast<std::size_t>(c)]));
  }

  /// Whether use_preconditioned() writes z.
  [[nodiscard]] bool stores_preconditioned() const {
    const SolverImplementation<T>* named = named_preconditioner();
    return preconditioned() && (named == nullptr || !named->traits().leaves_floats);
  }
  /// Computes z(column) = M^-1 r for the residual of each column, whose norm is that of the state, and calls
  /// use(result): result(c) is that of the c-th column, z, r without a preconditioner, or a vector in float
  /// that is widened on access.
  template <class Z, class Use>
  void use_preconditioned(std::span<const IteratedColumn> columns, Z z, Use use) const {
    SolveWorkspace& first = *columns.front().workspace;
    MultiVector<const T> residuals(first.n);
    MultiVector<T> results(first.n);
    MultiVector<const double> norms(1);
    for (const IteratedColumn& column : columns) {
      residuals.add(column.workspace->r.data());
      results.add(z(column));
      norms.add(&column.workspace->state()->residual);
    }
    const SolverImplementation<T>* named = named_preconditioner();
    if (named != nullptr && named->traits().leaves_floats) {
      const auto vectors = named->apply_in_float(*first.preconditioner, residuals, norms);
      use([&](std::size_t c) { return vectors[static_cast<int>(c)]; });
    } else {
      const auto vectors = preconditioner_.apply(first.preconditioner.get(), residuals, results);
      use([&](std::size_t c) { return vectors[static_cast<int>(c)]; });
    }
  }

  /// Computes z = M^-1 r. Returns z, or r without a preconditioner.
  const T* precondition(SolveWorkspace& workspace, const T* r, T* z) const {
    return preconditioner_.apply(workspace.preconditioner.get(), {r, workspace.n}, {z, workspace.n})[0];
  }

  /// Combines lower bounds of ||A^-1||_2 (of the scaled A) and of the condition number of the preconditioned
  /// A with those of earlier cycles.
  static void add_condition(const SolveWorkspace& workspace, double inverse_norm, double condition,
                            Job& job) {
    job.inverse_norm = std::max(job.inverse_norm, std::ldexp(inverse_norm, workspace.scale.matrix));
    job.preconditioned_condition = std::max(job.preconditioned_condition, condition);
  }

 private:
  using IteratedColumns = ColumnList<IteratedColumn>;

  /// The preconditioner, or the method itself, if it has found that A is singular; otherwise null.
  [[nodiscard]] const SolverImplementation<T>* finder_of_singular() const {
    const SolverImplementation<T>* method = named_preconditioner();
    if (method == nullptr) method = this;
    const bool is_singular = method->null_space_basis().columns() > 0 || method->zero_rows().size() > 0;
    return is_singular ? method : nullptr;
  }

  /// Solves all columns: iterates those that are running in one loop, and restarts them from the true
  /// residual, until each has converged or ended otherwise.
  void solve_together(SolvedColumns& columns) const {
    remove_inconsistent_parts(columns);
    begin(columns);
    const auto is_running = [](const SolvedColumn& column) { return column.is_running; };
    while (std::any_of(columns.begin(), columns.end(), is_running)) {
      const bool cancelled = iterate(columns);
      std::array<VectorFacts, most_columns> residuals;
      compute_residuals(columns, residuals);
      for (SolvedColumn& column : columns) {
        if (!column.is_running) continue;
        column.is_running = !is_final(column, residuals[column.number], cancelled) && may_iterate(column);
      }
    }
    for (SolvedColumn& column : columns)
      name_part_outside_range<T>(column.outside, column.workspace->n, *column.job);
  }

  /// Replaces b by its part in the range of a singular A, if the rest makes b inconsistent.
  void remove_inconsistent_part(SolvedColumn& column) const {
    if constexpr (finds_null_spaces<T>) remove_part_outside_range(column);
  }
  void remove_part_outside_range(SolvedColumn& column) const {
    const SolverImplementation<T>* finder = finder_of_singular();
    if (finder == nullptr) return;
    SolveWorkspace& workspace = *column.workspace;
    T* const consistent = workspace.consistent_rhs.data();
    double* const parts = workspace.null_space_parts.data();
    workspace.backend.copy(workspace.n, column.b, consistent);
    const double in_zero_rows = remove_elements(workspace.backend, finder->zero_rows(), parts, consistent);
    column.outside = remove_null_space(workspace.backend, finder->null_space_basis(),
                                       finder->proven_null_vectors(), parts, consistent);
    column.outside.proven = hypotenuse(column.outside.proven, in_zero_rows);
    if (is_outside_range<T>(column.outside, workspace.n, *column.job)) column.b = consistent;
  }

  /// Computes the first residuals, and which columns are to be iterated.
  void begin(SolvedColumns& columns) const {
    for (SolvedColumn& column : columns) {
      SolveWorkspace& workspace = *column.workspace;
      const Job& job = *column.job;
      // Products by a user's operator cannot be scaled.
      const bool scales = supports_scaling() && (!A_.is_operator() || A_.is_stencil());
      workspace.scale = scales ? scale_of<T>(job, preconditioned()) : IterationScale{};
      workspace.cycles = 0;
      workspace.control = job.control;
      column.norm = column.is_in_range() ? workspace.residual_check->vector(workspace.n, column.b).norm2
                                         : job.right_hand_side_norm;
      // Without a right-hand side the solution is zero for any initial guess.
      column.is_running = job.control->use_initial_guess && column.norm > 0;
      if (column.is_running) continue;
      workspace.backend.fill(workspace.columns, T{0}, column.x);
      workspace.backend.copy(workspace.n, column.b, workspace.r.data());
    }
    std::array<VectorFacts, most_columns> residuals;
    compute_residuals(columns, residuals);
    for (SolvedColumn& column : columns) {
      // The residual of x = 0 is b, without rounding errors.
      const double tolerance = column.is_running ? column.residual_tolerance() : column.asked_tolerance();
      if (column.is_running) column.norm = residuals[column.number].norm2;
      add_to_history(*column.job, column.norm, column.job->stopwatch.seconds());
      column.is_running = !(column.norm <= tolerance) && may_iterate(column);
    }
  }

  /// Computes the true residuals of the running columns, and their facts by the columns' numbers; in higher
  /// precision where rounding errors could hide that one exceeds its tolerance, as the final check does.
  void compute_residuals(SolvedColumns& columns, std::array<VectorFacts, most_columns>& facts) const {
    MultiVector<const T> b(A_.rows());
    MultiVector<const T> x(A_.columns());
    MultiVector<T> r(A_.rows());
    for (const SolvedColumn& column : columns) {
      if (!column.is_running) continue;
      b.add(column.b);
      x.add(column.x);
      r.add(column.workspace->r.data());
    }
    if (b.columns() == 0) return;
    const std::vector<VectorFacts> found = columns.begin()->workspace->residual_check->residuals(A_, b, x, r);
    auto next = found.begin();
    for (const SolvedColumn& column : columns) {
      if (!column.is_running) continue;
      facts[column.number] = *next++;
      if (is_residual_of_rounding(column, facts[column.number].norm2))
        facts[column.number] = column.workspace->residual_check->accurate_residual(
            A_, column.b, column.x, column.workspace->r.data());
    }
  }
  [[nodiscard]] bool is_residual_of_rounding(const SolvedColumn& column, double norm) const {
    const double limit = column.residual_tolerance();
    if (!(norm <= limit)) return false;
    const double size = column.workspace->residual_check->vector(A_.columns(), column.x).norm_inf;
    return may_hide_excess<T>(norm, limit, A_.rows(), column.job->matrix_norm * size);
  }

  /// False, with the outcome, at the limit of iterations.
  bool may_iterate(const SolvedColumn& column) const {
    if (column.job->iterations < column.job->max_iterations) return true;
    column.job->outcome = {Status::max_iterations, limit_text(column.norm, *column.job)};
    return false;
  }

  /// Whether the true residual after a cycle is the last one, with its outcome.
  bool is_final(SolvedColumn& column, VectorFacts residual, bool cancelled) const {
    SolveWorkspace& workspace = *column.workspace;
    Job& job = *column.job;
    const double before = column.norm;
    if (column.is_near && !(residual.norm2 < before)) residual = restore(column);
    column.norm = residual.norm2;
    if (column.norm <= column.residual_tolerance()) return true;
    const bool is_preliminary = workspace.cycles == 1 && preliminary_iterations() > 0;
    if (is_preliminary && !cancelled && std::isfinite(column.norm)) return false;
    const bool is_stationary = workspace.host_state.phase == Phase::stationary;
    if (is_stationary && !cancelled && falls_further(workspace, column.x)) return false;
    if (is_curvature_of_rounding(column)) workspace.host_state.phase = Phase::stagnated;
    job.outcome = outcome_of_cycle(cancelled, workspace.host_state.phase, before, column.norm, job);
    if (job.outcome.ok()) return false;
    if (!cancelled && accept_at_rounding_level(column, residual)) return true;
    if (!is_known_definite()) return_zero_if_worse(column);
    return true;
  }

  /// Whether a curvature that is not positive, after the solve has made progress, is no proof that A is
  /// indefinite, since rounding errors explain it. With (r, z) <= 0 the preconditioner is indefinite.
  bool is_curvature_of_rounding(const SolvedColumn& column) const {
    SolveWorkspace& workspace = *column.workspace;
    const auto& state = workspace.host_state;
    if (state.phase != Phase::not_spd || !(real(state.rho) > 0)) return false;
    if (!is_progress(column.job->history.front(), column.norm)) return false;
    const std::optional<double> curvature = relative_curvature(workspace);
    return curvature && *curvature > -rounding_level<T>;
  }

  static void scale_by(B& backend, std::int64_t n, int exponent, T* x) {
    if (exponent != 0) backend.for_each(n, ScaleByPowerOfTwo<T>{exponent, x});
  }
  static void scale_iterate(SolveWorkspace& workspace, int exponent, T* x) {
    scale_by(workspace.backend, workspace.columns, exponent, x);
  }

  /// Iterates the running columns from a (re)start until their states stop running; returns true if the
  /// caller requested a stop.
  bool iterate(SolvedColumns& columns) const {
    for (SolvedColumn& column : columns) {
      if (column.is_running) begin_cycle(column);
    }
    IteratedColumns running = running_of(columns);
    if (running.size() > 0) start_running(running.span());
    bool cancelled = false;
    while (running.size() > 0 && !cancelled) {
      const std::int64_t steps = stop_.check_every > 0 ? stop_.check_every : steps_before_check(columns);
      for (std::int64_t k = 0; k < steps; ++k) step_running(running.span());
      StateReader<B, T> reader(columns);
      running = {};
      for (SolvedColumn& column : columns) {
        if (!column.is_iterated()) continue;
        use_state(column, reader.state_of(column));
        if (records_true_residual() && stagnates(column))
          column.workspace->host_state.phase = Phase::stagnated;
        cancelled = cancelled || column.job->control->cancel.stop_requested();
        if (column.workspace->host_state.running()) running.add(column);
      }
    }
    end_cycle(columns);
    return cancelled;
  }

  /// The columns that are still iterated.
  static IteratedColumns running_of(SolvedColumns& columns) {
    IteratedColumns running;
    for (const SolvedColumn& column : columns) {
      if (column.is_running) running.add(column);
    }
    return running;
  }
  void start_running(std::span<const IteratedColumn> columns) const {
    if (columns.size() > 1) return start_together(columns);
    start(*columns.front().workspace, columns.front().b, columns.front().x);
  }
  void step_running(std::span<const IteratedColumn> columns) const {
    if (columns.size() > 1) return step_together(columns);
    step(*columns.front().workspace, columns.front().b, columns.front().x);
  }

  /// Copies x, to which restore() returns.
  void keep(const SolvedColumn& column) const {
    SolveWorkspace& workspace = *column.workspace;
    if (workspace.restart_iterate.size() != workspace.columns)
      workspace.restart_iterate = Array<T>(this->device(), workspace.columns);
    workspace.backend.copy(workspace.columns, column.x, workspace.restart_iterate.data());
  }
  /// Takes back the x before a cycle that has not reduced its residual. Returns the facts of the latter.
  VectorFacts restore(const SolvedColumn& column) const {
    SolveWorkspace& workspace = *column.workspace;
    workspace.backend.copy(workspace.columns, workspace.restart_iterate.data(), column.x);
    return workspace.residual_check->accurate_residual(A_, column.b, column.x, workspace.r.data());
  }

  /// Writes a fresh state to the device, and scales the column.
  void begin_cycle(SolvedColumn& column) const {
    constexpr double divergence_factor = 1e10;
    // From a residual near the tolerance the recurrence goes on until it has fallen far enough for rounding
    // errors of x not to undo it.
    constexpr double restart_share = 0.25;
    SolveWorkspace& workspace = *column.workspace;
    const Job& job = *column.job;
    const int scale = workspace.scale.rhs;
    column.least = column.norm;
    column.idle = 0;
    const std::int64_t preliminary = ++workspace.cycles == 1 ? preliminary_iterations() : 0;
    typename SolveWorkspace::State fresh;
    column.is_near = workspace.cycles > 1 && restart_share * column.norm < column.tolerance;
    if (column.is_near) keep(column);
    const double aim = column.is_near ? restart_share * column.norm : column.tolerance;
    fresh.tolerance = std::ldexp(aim, scale);
    fresh.divergence =
        is_known_definite()
            ? std::numeric_limits<double>::max()
            : divergence_factor * std::ldexp(std::max(job.right_hand_side_norm, job.history.front()), scale);
    fresh.initial = fresh.residual = std::ldexp(column.norm, scale);
    fresh.iteration = job.iterations;
    fresh.max_iterations = preliminary > 0 ? std::min(preliminary, job.max_iterations) : job.max_iterations;
    workspace.host_state = fresh;
    workspace.backend.write(fresh, workspace.state());
    scale_by(workspace.backend, workspace.n, scale, workspace.r.data());
    scale_iterate(workspace, scale - workspace.scale.matrix, column.x);
  }

  /// Takes a state that was read, and adds the new iterations to the job.
  void use_state(SolvedColumn& column, const typename SolveWorkspace::State& state) const {
    SolveWorkspace& workspace = *column.workspace;
    Job& job = *column.job;
    workspace.host_state = state;
    const double seconds = job.stopwatch.seconds();
    while (job.iterations < workspace.host_state.iteration) {
      const auto place = job.iterations % IterationState::history_size;
      add_to_history(job, std::ldexp(workspace.host_state.history[place], -workspace.scale.rhs), seconds);
      collect_coefficients(workspace, place);
      count_idle_step(column);
      ++job.iterations;
    }
    Phase& phase = workspace.host_state.phase;
    const bool is_idle = idle_steps() > 0 && column.idle >= idle_steps() && phase == Phase::running;
    if (is_idle || (phase == Phase::not_spd && is_known_definite())) phase = Phase::idle;
    if (!job.control->on_progress) return;
    std::function<DenseView<const T>()> iterate = [this, &column] { return iterate_of(column); };
    report_progress(*job.control, {.method = this->name(),
                                   .right_hand_side = job.number,
                                   .iteration = job.iterations,
                                   .relative_residual = job.history.back() / job.right_hand_side_norm,
                                   .tolerance = job.tolerance / job.right_hand_side_norm,
                                   .source = std::move(iterate)});
  }
  static void add_to_history(Job& job, double norm, double seconds) {
    job.history.push_back(norm);
    job.history_seconds.push_back(seconds);
  }

  /// The x of the caller after the iterations that the host knows of, in memory of its own. Waits.
  DenseView<const T> iterate_of(const SolvedColumn& column) const {
    SolveWorkspace& workspace = *column.workspace;
    const std::int64_t n = A_.columns();
    if (workspace.iterate.size() != n) workspace.iterate = Array<T>(this->device(), n);
    T* const x = workspace.iterate.data();
    workspace.backend.copy(n, column.x, x);
    finish_copy(workspace, x);
    scale_iterate(workspace, workspace.scale.matrix - workspace.scale.rhs + column.job->unscaling, x);
    workspace.backend.synchronize();
    return {x, n, 1, n, this->device()};
  }

  void end_cycle(SolvedColumns& columns) const {
    const IteratedColumns running = running_of(columns);
    if (running.size() > 1) {
      finish_together(running.span());
    } else {
      finish(*running[0].workspace, running[0].x);
    }
    for (const SolvedColumn& column : columns) {
      if (!column.is_running) continue;
      SolveWorkspace& workspace = *column.workspace;
      scale_iterate(workspace, workspace.scale.matrix - workspace.scale.rhs, column.x);
      estimate_condition(workspace, column.x, *column.job);
    }
  }

  Stop stop_;
  MatrixRef<T> A_;
  MethodPreconditioner<T> preconditioner_;
  bool takes_preconditioner_ = false;
};

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "matrix/assign.hpp"
#include "matrix/overlap.hpp"
#include "solver/column_report.hpp"
#include "solver/implementation.hpp"
#include "solver/nested_solver.hpp"
#include "support/stopwatch.hpp"
#include "support/text.hpp"
#include "support/workspace_pool.hpp"

#include <echelon/error.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace echelon {

namespace {

/// Memory of one solve in progress: the workspace of the method, and that of the residual check.
template <class T>
struct SolveWorkspace {
  std::unique_ptr<Workspace> method;
  std::unique_ptr<ResidualCheck<T>> residual_check;
  Dense<T> residuals;  // of the columns that are checked together
  Dense<T> b, x;       // column-major copies of row-major operands, or of a B that X overwrites

  /// Allocates if the shapes differ from those of the previous call.
  static void fit(std::int64_t rows, std::int64_t columns, const Device& device, Dense<T>& copy) {
    if (copy.rows() == rows && copy.columns() == columns) return;
    copy = Dense<T>();
    copy = Dense<T>(device, rows, columns);
  }
  [[nodiscard]] DenseView<const T> copy_of_rhs(DenseView<const T> B) {
    fit(B.rows(), B.columns(), B.device(), b);
    assign<T>(B, b);
    return b;
  }

  /// Memory for the residuals of as many of the columns as are checked together.
  void fit_residuals(DenseView<const T> B) {
    const auto together = B.device().on_host() ? std::int64_t{1} : static_cast<std::int64_t>(usual_columns);
    fit(B.rows(), std::min(B.columns(), together), B.device(), residuals);
  }

  explicit SolveWorkspace(const SolverImplementation<T>& implementation)
      : method(implementation.make_workspace()),
        residual_check(on_target(implementation.device(), [&]<class Target>() {
          return make_residual_check<Target, T>(implementation.device());
        })) {}
  [[nodiscard]] std::size_t bytes() const {
    return method->bytes() + residuals.bytes() + b.bytes() + x.bytes();
  }
};

}  // namespace

template <class T>
struct SolverState {
  MatrixRef<T> matrix;
  bool ready = false;
  Outcome setup;
  std::optional<std::int64_t> nonfinite_column;
  double norm_inf = 0;
  double analysis_seconds = 0;
  double setup_seconds = 0;
  std::unique_ptr<ResidualCheck<T>> residual_check;  // for setup
  WorkspacePool<SolveWorkspace<T>> workspaces;
};

template <class T>
Solver<T>::Solver(std::unique_ptr<SolverImplementation<T>> implementation)
    : implementation_(std::move(implementation)), state_(std::make_unique<SolverState<T>>()) {
  state_->residual_check =
      on_target(device(), [this]<class Target>() { return make_residual_check<Target, T>(device()); });
}
template <class T>
Solver<T>::Solver(Solver&&) noexcept = default;
template <class T>
Solver<T>& Solver<T>::operator=(Solver&&) noexcept = default;
template <class T>
Solver<T>::~Solver() = default;

template <class T>
const Device& Solver<T>::device() const {
  return implementation_->device();
}

template <class T>
std::string Solver<T>::describe() const {
  const std::string& options = implementation_->changed_options();
  return options.empty() ? implementation_->name() : fmt::format("{} ({})", implementation_->name(), options);
}

namespace {

/// Names of the methods that need only products with A: "bicgstab, cg, gmres".
std::string operator_methods() {
  std::string names;
  for (const Method& method : methods()) {
    if (method.operators) names += (names.empty() ? "" : ", ") + method.name;
  }
  return names;
}

template <class T>
void check_matrix(const MatrixRef<T>& A, const SolverImplementation<T>& implementation) {
  if (A.rows() != A.columns() && !implementation.takes_any_shape()) {
    throw DimensionMismatch(
        fmt::format("A is {} by {}: {} needs a square matrix; gauss-jordan and mapped-echelon take any shape",
                    A.rows(), A.columns(), implementation.name()));
  }
  check_same_memory(implementation.device(), "the solver", A.device(), "A");
  if (A.is_operator() && !implementation.takes_operator()) {
    throw Error(fmt::format(
        "{} needs the elements of A, and a linear operator has none: {} solve with its products alone",
        implementation.name(), operator_methods()));
  }
}

/// Report of a set-up: a successful one has the status `ready`.
Report as_setup(Report report) {
  if (report.status == Status::direct || report.status == Status::converged) report.status = Status::ready;
  return report;
}

template <class T>
Report report_of(const SolverImplementation<T>& implementation, const Outcome& outcome) {
  Report report = outcome_report(outcome, implementation.name(), implementation.device());
  // A NaN in A is found before the implementation sees A, whose precision is then that of the previous
  // matrix.
  if (outcome.status != Status::not_a_number) report.factor_precision = implementation.factor_precision();
  report.bytes = implementation.bytes();
  return report;
}

}  // namespace

template <class T>
Report Solver<T>::analyze(MatrixRef<T> A) {
  check_matrix(A, *implementation_);
  const Stopwatch stopwatch;
  Report report = as_setup(report_of(*implementation_, implementation_->analyze(A)));
  state_->residual_check->synchronize();
  report.analysis_seconds = state_->analysis_seconds = stopwatch.seconds();
  return report;
}

template <class T>
Report Solver<T>::run_setup(MatrixRef<T> A, bool update, const Control& control) {
  check_matrix(A, *implementation_);
  SolverState<T>& state = *state_;
  const Stopwatch stopwatch;
  state.ready = false;
  state.workspaces.clear();
  state.matrix = A;
  const MatrixFacts facts = state.residual_check->matrix(A);
  state.norm_inf = facts.norm_inf;
  state.nonfinite_column = facts.column;
  if (facts.row) {
    state.setup = {Status::not_a_number,
                   facts.column ? fmt::format("A has a NaN or Inf at row {}, column {}, counted from 0",
                                              *facts.row, *facts.column)
                                : fmt::format("A x has a NaN or Inf at row {}, counted from 0, for an x of "
                                              "ones and minus ones",
                                              *facts.row),
                   facts.row};
  } else {
    implementation_->set_cancel(control.cancel);
    state.setup = update ? implementation_->update_values(A) : implementation_->setup(A);
    implementation_->set_cancel({});
  }
  state.residual_check->synchronize();
  state.ready = true;
  Report report = as_setup(report_of(*implementation_, state.setup));
  report.column = state.nonfinite_column;
  report.analysis_seconds = state.analysis_seconds;
  report.setup_seconds = state.setup_seconds = stopwatch.seconds();
  return report;
}

template <class T>
Report Solver<T>::setup(MatrixRef<T> A, const Control& control) {
  return run_setup(A, false, control);
}

template <class T>
Report Solver<T>::update_values(MatrixRef<T> A, const Control& control) {
  const SolverState<T>& state = *state_;
  const bool same = state.ready && state.matrix.rows() == A.rows() && state.matrix.columns() == A.columns() &&
                    state.matrix.nonzeros() == A.nonzeros() && state.matrix.is_sparse() == A.is_sparse() &&
                    state.matrix.is_operator() == A.is_operator();
  return run_setup(A, same && state.setup.ok(), control);
}

template <class T>
void Solver<T>::set_preconditioner(const Preconditioner<T>& preconditioner) {
  check_same_memory(device(), "the solver", preconditioner.device(), "the preconditioner");
  implementation_->set_preconditioner(preconditioner);
  state_->workspaces.clear();
}

template <class T>
std::size_t Solver<T>::bytes() const {
  std::size_t bytes = implementation_->bytes();
  state_->workspaces.for_each_idle([&](const SolveWorkspace<T>& workspace) { bytes += workspace.bytes(); });
  return bytes;
}

namespace {

/// Estimate of ||x - x*|| / ||x||, see Report::error_estimate; empty without a condition estimate.
template <class T>
std::optional<double> error_estimate(const Outcome& setup, const Job& job, bool direct, const VectorFacts& x,
                                     const VectorFacts& r, double backward_error) {
  if (direct) {
    if (!setup.reciprocal_condition) return std::nullopt;
    return direct_error_estimate<T>(backward_error, *setup.reciprocal_condition);
  }
  if (!(job.inverse_norm > 0) || !(x.norm2 > 0)) return std::nullopt;
  // The first term is often a tenth of the error or less if the iteration has not resolved the smallest
  // singular values; the second term then compensates.
  return std::max(job.inverse_norm * (r.norm2 / x.norm2),
                  job.preconditioned_condition * (r.norm2 / job.right_hand_side_norm));
}

/// Corrects the outcome of a column by its computed residual, whatever the method reports.
template <class T>
void check_answer(const VectorFacts& x, const VectorFacts& r, bool direct, double backward_error, Job& job) {
  check_finite(x, job.outcome);
  if (direct) {
    check_backward_error(backward_error, acceptable_backward_error<T>, job.outcome);
  } else if (job.outcome.ok() && !(r.norm2 <= job.tolerance + job.unreachable) && !job.limited_by_rounding) {
    job.outcome.status = Status::stagnated;
    job.outcome.message =
        fmt::format("the true residual is {:.3g}, above the tolerance {:.3g}", r.norm2, job.tolerance);
  }
}

/// Norms and NaNs of each column.
template <class T>
std::vector<VectorFacts> inspect_columns(DenseView<const T> X, ResidualCheck<T>& residual_check) {
  std::vector<const T*> columns;
  for (std::int64_t j = 0; j < X.columns(); ++j) columns.push_back(X.column(j));
  return residual_check.vectors(X.rows(), columns);
}

/// Facts of the residual of each column, those of a zero one where the answer is exact.
template <class T>
std::vector<VectorFacts> inspect_residuals(const MatrixRef<T>& A, DenseView<const T> B, DenseView<const T> X,
                                           const std::vector<Job>& jobs, SolveWorkspace<T>& workspace) {
  std::vector<VectorFacts> facts(jobs.size());
  std::vector<std::size_t> numbers;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (!jobs[j].exact) numbers.push_back(j);
  }
  workspace.fit_residuals(B);
  const auto together = static_cast<std::size_t>(workspace.residuals.columns());
  for (std::size_t first = 0; first < numbers.size(); first += together) {
    const std::size_t end = std::min(first + together, numbers.size());
    std::vector<ResidualColumn<T>> group;
    for (std::size_t k = first; k < end; ++k) {
      const auto j = static_cast<std::int64_t>(numbers[k]);
      T* const r = workspace.residuals.view().column(static_cast<std::int64_t>(k - first));
      group.push_back({B.column(j), X.column(j), r});
    }
    const std::vector<VectorFacts> found = workspace.residual_check->residuals(A, group);
    for (std::size_t k = first; k < end; ++k) facts[numbers[k]] = found[k - first];
  }
  return facts;
}

/// Reports the first NaN or Inf of the right-hand sides; false if there is none.
bool report_nonfinite(const std::vector<VectorFacts>& columns, Report& report) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [](const VectorFacts& column) { return column.nonfinite.has_value(); });
  if (found == columns.end()) return false;
  report.status = Status::not_a_number;
  report.row = found->nonfinite;
  report.column = found - columns.begin();
  report.message = fmt::format("b has a NaN or Inf at row {}, column {}, counted from 0", *found->nonfinite,
                               found - columns.begin());
  return true;
}

/// Makes one job for each right-hand side, with the tolerance of an iterative method.
template <class T>
std::vector<Job> make_jobs(const std::vector<VectorFacts>& columns, const Stop* stop,
                           const SolverState<T>& state, const Control& control) {
  std::vector<Job> jobs;
  for (const VectorFacts& b : columns) {
    Job& job = jobs.emplace_back(Job{.number = static_cast<std::int64_t>(jobs.size()),
                                     .right_hand_side_norm = b.norm2,
                                     .right_hand_side_norm_inf = b.norm_inf,
                                     .matrix_norm = state.norm_inf,
                                     .control = &control,
                                     .outcome = state.setup});
    if (stop == nullptr) continue;
    job.tolerance = std::max(stop->relative_tolerance(std::is_same_v<T, float>) * b.norm2, stop->atol);
    job.outcome = {Status::converged};
  }
  return jobs;
}

/// Adds the condition estimates of an iterative method, and a warning if a residual within the tolerance does
/// not imply an accurate x.
void add_krylov_condition(double matrix_norm, const Job& job, Report& report) {
  if (job.preconditioned_condition > 0) report.preconditioned_condition = job.preconditioned_condition;
  const double condition = matrix_norm * job.inverse_norm;
  if (!(condition > 0)) return;
  report.condition_kind = ConditionKind::krylov;
  report.reciprocal_condition = 1 / condition;
  if (!report.solved() || report.expected_digits() != 0) return;
  report.warnings.push_back(
      fmt::format("A is ill-conditioned (about {:.1e} or more): the residual is within the tolerance, but x "
                  "need not have a correct digit; a direct method, or a smaller rtol, may have more",
                  condition));
}

/// Solves for column-major B and X, and fills in the report from the residual b - A x.
template <class T>
void solve_columns(const SolverImplementation<T>& implementation, const SolverState<T>& state,
                   SolveWorkspace<T>& workspace, DenseView<const T> B, DenseView<T> X, const Control& control,
                   Report& report) {
  const std::vector<VectorFacts> b_facts = inspect_columns(B, *workspace.residual_check);
  if (report_nonfinite(b_facts, report)) return;
  const Stop* stop = implementation.stop();
  std::vector<Job> jobs = make_jobs(b_facts, stop, state, control);
  if (stop != nullptr) {
    report.status = Status::converged;
    if (!state.setup.ok()) report.warnings.push_back(state.setup.message);  // a doubtful preconditioner
  }
  if (stop == nullptr && control.use_initial_guess) {
    report.warnings.emplace_back("a direct method has no use for a first guess");
  }
  implementation.solve(*workspace.method, B, X, jobs);
  // A solve may have replaced factors in a lower precision.
  report.factor_precision = implementation.factor_precision();

  std::size_t worst = 0;
  const std::vector<VectorFacts> x_facts = inspect_columns<T>(X, *workspace.residual_check);
  const std::vector<VectorFacts> r_facts = inspect_residuals<T>(state.matrix, B, X, jobs, workspace);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const VectorFacts& x = x_facts[j];
    const VectorFacts& r = r_facts[j];
    Job& job = jobs[j];
    ColumnReport column = measured_column(b_facts[j], x, r, state.norm_inf);
    column.iterations = job.iterations;
    column.error_estimate = error_estimate<T>(state.setup, job, stop == nullptr, x, r, column.backward_error);
    check_answer<T>(x, r, stop == nullptr, column.backward_error, job);
    if (add_column(column, r.norm2, job.outcome, report)) worst = j;
  }
  if (jobs.empty()) return;
  const Job& job = jobs[worst];
  report.tolerance = job.tolerance;
  report.history = job.history;
  if (job.right_hand_side_norm > 0) {
    for (double& norm : report.history) norm /= job.right_hand_side_norm;
  }
  report.statistics.insert(report.statistics.end(), job.statistics.begin(), job.statistics.end());
  if (job.factor_precision) report.factor_precision = job.factor_precision;
  const bool explained = job.limited_by_rounding || job.unreachable > 0;
  if (explained && report.solved() && !report.message.empty()) {
    report.warnings.push_back(std::exchange(report.message, {}));
  }
  if (stop != nullptr) add_krylov_condition(state.norm_inf, job, report);
}

}  // namespace

namespace {

template <class T>
void check_operands(const MatrixRef<T>& A, const Device& device, DenseView<const T> B, DenseView<const T> X) {
  const std::int64_t m = A.rows();
  const std::int64_t n = A.columns();
  if (B.rows() != m || X.rows() != n || B.columns() != X.columns()) {
    throw DimensionMismatch(
        fmt::format("A is {} by {}, B is {} by {}, X is {} by {}: B needs {} rows, X {}, and both equally "
                    "many columns",
                    m, n, B.rows(), B.columns(), X.rows(), X.columns(), m, n));
  }
  check_same_memory(device, "the solver", B.device(), "B");
  check_same_memory(device, "the solver", X.device(), "X");
  if (overlap(B, X) && !same_elements(B, X)) {
    throw OverlappingOperands("B and X share a part of their memory: X has to be B itself, or elsewhere");
  }
  if (!A.is_sparse() && !A.is_operator() && overlap(A.dense(), X)) {
    throw OverlappingOperands("A and X share memory: write X elsewhere");
  }
}

/// Fills in the figures of x = 0, for a report where nothing was computed.
void describe_nothing_computed(Report& report) {
  report.relative_residual = 1;
  report.backward_error = 1;
}

}  // namespace

template <class T>
Report Solver<T>::solve(DenseView<const T> B, DenseView<T> X, const Control& control) const {
  SolverState<T>& state = *state_;
  if (!state.ready) throw Error("solve was called before setup (or factor)");
  check_operands<T>(state.matrix, device(), B, X);

  const Outcome& setup = state.setup;
  Report report = report_of(*implementation_, setup);
  report.column = state.nonfinite_column;
  report.analysis_seconds = state.analysis_seconds;
  report.setup_seconds = state.setup_seconds;
  const bool has_factor = setup.ok() || setup.status == Status::underdetermined ||
                          (setup.status == Status::singular && !setup.row);
  if (!has_factor) {
    describe_nothing_computed(report);
    return report;
  }

  const Stopwatch stopwatch;
  const auto make = [&] { return std::make_unique<SolveWorkspace<T>>(*implementation_); };
  const std::size_t workspace_bytes =
      state.workspaces.with_workspace(make, [&](SolveWorkspace<T>& workspace) {
        const bool by_row = B.layout() == Layout::row_major || X.layout() == Layout::row_major;
        const DenseView<const T> b = by_row || overlap<T>(B, X) ? workspace.copy_of_rhs(B) : B;
        if (by_row) {
          workspace.fit(X.rows(), X.columns(), X.device(), workspace.x);
          if (control.use_initial_guess) assign<T>(X, workspace.x);
          solve_columns<T>(*implementation_, state, workspace, b, workspace.x, control, report);
          if (!report.columns.empty()) assign<T>(workspace.x, X);
        } else {
          solve_columns(*implementation_, state, workspace, b, X, control, report);
        }
        return workspace.bytes();
      });
  report.bytes = implementation_->bytes() + workspace_bytes;
  if (report.columns.empty() && B.columns() > 0) describe_nothing_computed(report);
  report.solve_seconds = stopwatch.seconds();
  return report;
}

template class Solver<float>;
template class Solver<double>;

}  // namespace echelon

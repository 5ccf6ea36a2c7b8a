// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "backend/dispatch.hpp"
#include "matrix/assign.hpp"
#include "matrix/row_blocks.hpp"
#include "matrix/views/borrowed_arrays.hpp"
#include "matrix/views/sparse_view_state.hpp"
#include "solver/answer/argument_checks.hpp"
#include "solver/answer/columns_solve.hpp"
#include "solver/answer/least_squares.hpp"
#include "solver/answer/set_up.hpp"
#include "solver/answer/solver_state.hpp"
#include "solver/answer/transposed_system.hpp"
#include "solver/column_report.hpp"
#include "solver/implementation.hpp"
#include "solver/progress.hpp"
#include "support/scalar.hpp"
#include "support/stopwatch.hpp"

#include <echelon/error.hpp>
#include <echelon/preconditioner.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// The object that a solver has, unless it was moved from.
template <class Pointer>
typename Pointer::element_type& of_solver(const Pointer& object) {
  if (object == nullptr)
    throw Error("the solver has been moved from: only the one that it was moved to solves");
  return *object;
}

}  // namespace

template <class T>
Solver<T>::Solver(std::unique_ptr<SolverImplementation<T>> implementation)
    : implementation_(std::move(implementation)) {
  at_api_boundary([this] {
    state_ = std::make_shared<SolverState<T>>();
    state_->owner = this;
    state_->residual_check = on_target<targets_of<T>>(
        device(), [this]<class Target>() { return make_residual_check<Target, T>(device()); });
  });
}
template <class T>
Solver<T>::Solver(Solver&& other) noexcept
    : implementation_(std::move(other.implementation_)), state_(std::move(other.state_)) {
  if (state_ != nullptr) state_->owner = this;
}
template <class T>
Solver<T>& Solver<T>::operator=(Solver&& other) noexcept {
  implementation_ = std::move(other.implementation_);
  state_ = std::move(other.state_);
  if (state_ != nullptr) state_->owner = this;
  return *this;
}
template <class T>
Solver<T>::~Solver() = default;

template <class T>
const Device& Solver<T>::device() const {
  return of_solver(implementation_).device();
}

template <class T>
std::string Solver<T>::describe() const {
  const SolverImplementation<T>& method = of_solver(implementation_);
  return at_api_boundary([&] {
    const std::string& options = method.changed_options();
    return options.empty() ? method.name() : fmt::format("{} ({})", method.name(), options);
  });
}

template <class T>
Report Solver<T>::analyze(MatrixRef<T> A, const Control& control) {
  SolverImplementation<T>& method = of_solver(implementation_);
  return at_api_boundary([&] {
    check_matrix(A, method);
    if (MethodChooser<T>* const chooser = method.chooser()) return chooser->analyze(A, control);
    const Stopwatch stopwatch;
    const ReportedSetup reported(control, method.name());
    method.set_control(reported.control());
    const Outcome outcome = method.analyze(A);
    method.set_control({});
    state_->residual_check->synchronize();
    reported.end(SolverPhase::analysis, outcome.ok());
    Report report = as_setup(report_of(method, outcome));
    report.analysis_seconds = state_->analysis_seconds = stopwatch.seconds();
    return report;
  });
}

template <class T>
Report Solver<T>::run_setup(MatrixRef<T> A, bool update, const Control& control) {
  return at_api_boundary([&] {
    SolverImplementation<T>& method = of_solver(implementation_);
    SolverState<T>& state = of_solver(state_);
    check_matrix(A, method);
    if (MethodChooser<T>* const chooser = method.chooser())
      return set_up(*chooser, state, A, update, control);
    return set_up(method, state, A, update, control);
  });
}

template <class T>
Report Solver<T>::setup(MatrixRef<T> A, const Control& control) {
  return run_setup(A, false, control);
}

template <class T>
Report Solver<T>::update_values(MatrixRef<T> A, const Control& control) {
  const SolverState<T>& state = of_solver(state_);
  const bool same = state.ready && state.matrix.rows() == A.rows() && state.matrix.columns() == A.columns() &&
                    state.matrix.nonzeros() == A.nonzeros() && state.matrix.is_sparse() == A.is_sparse() &&
                    state.matrix.is_operator() == A.is_operator() &&
                    state.matrix.is_stencil() == A.is_stencil();
  return run_setup(A, same && state.setup.ok(), control);
}

template <class T>
Report Solver<T>::update_values(std::span<const T> values, const Control& control) {
  SolverState<T>& state = of_solver(state_);
  if (!state.ready) throw Error("update_values was called before setup (or factor)");
  const Csr<T>* const given = state.given.csr();
  if (given == nullptr) throw Error("values alone are not enough for a matrix that is not sparse");
  const SparseViewState<T>* const view = state.given.sparse_view();
  const std::int64_t count = std::ssize(values);
  const std::int64_t stored = view != nullptr ? view->source_count : given->nonzeros();
  if (count != stored) {
    throw DimensionMismatch(fmt::format("{} values for a matrix with {} stored elements", count, stored));
  }
  auto revalued = std::make_unique<Csr<T>>(at_api_boundary([&] {
    return CsrAccess::with_pattern_of<T>(*given, view != nullptr
                                                     ? view->values_of(values.data())
                                                     : borrow(given->device(), values.data(), count));
  }));
  // The method may refer to the matrix that it was set up for until its update ends.
  const std::unique_ptr<Csr<T>> previous = std::exchange(state.revalued, std::move(revalued));
  return update_values(MatrixRef<T>(*state.revalued, view), control);
}

template <class T>
void Solver<T>::set_preconditioner(const Preconditioner<T>& preconditioner) {
  SolverImplementation<T>& method = of_solver(implementation_);
  check_same_memory(device(), "the solver", preconditioner.device(), "the preconditioner");
  if (!preconditioner.is_solver() && !preconditioner.callable()) {
    throw Error("the preconditioner is an empty function");
  }
  const Preconditioner<T>* next = &preconditioner;
  while (next != nullptr && next->is_solver()) {
    const Solver<T>* const other = next->solver();
    if (other == this) {
      throw Error("a solver cannot be its own preconditioner, neither directly nor through others");
    }
    next = other->state_->preconditioner ? &*other->state_->preconditioner : nullptr;
  }
  at_api_boundary([&] { method.set_preconditioner(preconditioner); });
  state_->preconditioner = preconditioner;
  state_->transposed.reset();
  state_->workspaces.clear();
}

template <class T>
Determinant Solver<T>::determinant() const {
  const SolverImplementation<T>& method = of_solver(implementation_);
  return at_api_boundary([&] {
    check_result(*state_, "determinant");
    Determinant result = method.determinant();
    if (result.sign != 0) result.exponent -= state_->exponent * state_->matrix.rows();
    return result;
  });
}

template <class T>
Inertia Solver<T>::inertia() const {
  const SolverImplementation<T>& method = of_solver(implementation_);
  return at_api_boundary([&] {
    check_result(*state_, "inertia");
    return method.inertia();
  });
}

template <class T>
MatrixFactors<T> Solver<T>::factors() const {
  const SolverImplementation<T>& method = of_solver(implementation_);
  return at_api_boundary([&] {
    check_result(*state_, "factors");
    MatrixFactors<T> result = method.factors();
    result.exponent = state_->exponent;
    return result;
  });
}

template <class T>
std::size_t Solver<T>::bytes() const {
  std::size_t bytes = of_solver(implementation_).bytes() + state_->null_space.vectors.bytes();
  state_->workspaces.for_each_idle([&](const SolveWorkspace<T>& workspace) { bytes += workspace.bytes(); });
  return bytes;
}

namespace {

/// Fills in the figures of x = 0, for a report where nothing was computed.
void describe_nothing_computed(Report& report) {
  report.relative_residual = 1;
  report.backward_error = 1;
}

/// Adds the rank of a matrix that a method called singular, where it can be found without rounding errors.
template <class T>
void add_exact_rank(ExactRank<T>& exact, Report& report) {
  const std::optional<std::int64_t> rank = exact.rank();
  if (!rank) return;
  report.rank = rank;
  const bool deficient = *rank < exact.order();
  report.certainty = deficient ? Certainty::proven : Certainty::working_precision;
}

/// Solves by a method that is set up.
template <class T>
Report solve_columns(const SolverImplementation<T>& method, SolverState<T>& state, DenseView<const T> B,
                     DenseView<T> X, const Control& control) {
  const Outcome& setup = state.setup;
  Report report = report_of(method, setup);
  report.column = state.nonfinite_column;
  report.analysis_seconds = state.analysis_seconds;
  report.setup_seconds = state.setup_seconds;
  if (!has_factor(setup)) {
    if (setup.status == Status::singular) add_exact_rank(*state.exact, report);
    const bool decomposed =
        control.least_squares && setup.status == Status::singular && is_decomposable(state.matrix);
    if (!decomposed) {
      describe_nothing_computed(report);
      return report;
    }
  }

  const Stopwatch stopwatch;
  const auto make = [&] { return std::make_unique<SolveWorkspace<T>>(method); };
  const std::size_t workspace_bytes =
      state.workspaces.with_workspace(make, [&](SolveWorkspace<T>& workspace) {
        const bool by_row = B.layout() == Layout::row_major || X.layout() == Layout::row_major;
        const DenseView<const T> b = by_row || overlap<T>(B, X) ? workspace.copy_of_rhs(B) : B;
        if (by_row) {
          workspace.fit(X.rows(), X.columns(), X.device(), workspace.x);
          if (control.use_initial_guess) assign<T>(X, workspace.x);
          ColumnsSolve<T>(method, state, workspace, control, report).run(b, workspace.x);
          if (!report.columns.empty()) assign<T>(workspace.x, X);
        } else {
          ColumnsSolve<T>(method, state, workspace, control, report).run(b, X);
        }
        return workspace.bytes();
      });
  report.bytes = method.bytes() + state.null_space.vectors.bytes() + workspace_bytes;
  if (report.columns.empty() && B.columns() > 0) describe_nothing_computed(report);
  report.solve_seconds = stopwatch.seconds();
  return report;
}

}  // namespace

template <class T>
const Solver<T>& Solver<T>::transposed() const {
  SolverState<T>& state = *state_;
  const std::lock_guard<std::mutex> lock(state.transposing);
  if (state.transposed) return *state.transposed->solver;
  auto system = std::make_unique<TransposedSystem<T>>();
  const SolverImplementation<T>& method = *implementation_;
  system->transpose.form(state.given, has_factor(state.setup) && method.factored_matrix().is_sparse());
  if (auto of_factors = method_for_transpose(method, state, system->transpose.matrix())) {
    of_factors->set_description(method.name(), method.changed_options());
    system->solver.emplace(std::move(of_factors));
    system->solver->state_->given_exponent = state.exponent;
  } else if (!state.preconditioner && method.maker()) {
    system->solver.emplace(method.maker()());
  } else {
    throw Error(method.name() +
                " with a preconditioner that is an object does not solve with the transpose: "
                "set up a solver for the transposed matrix");
  }
  (void)system->solver->setup(system->transpose.matrix());
  state.transposed = std::move(system);
  return *state.transposed->solver;
}

template <class T>
Report Solver<T>::solve(DenseView<const T> B, DenseView<T> X, const Control& control) const {
  return at_api_boundary([&] {
    SolverState<T>& state = of_solver(state_);
    if (!state.ready) throw Error("solve was called before setup (or factor)");
    check_control(control);
    if (MethodChooser<T>* const chooser = implementation_->chooser()) {
      check_operands<T>(state.given, control.operation, device(), B, X);
      return chooser->solve(B, X, control);
    }
    if (control.operation != Operation::none) {
      Control of_transpose = control;
      of_transpose.operation = Operation::none;
      if constexpr (is_complex<T>) {
        if (control.operation == Operation::adjoint)
          return solve_conjugated(transposed(), B, X, of_transpose);
      }
      return transposed().solve(B, X, of_transpose);
    }
    check_operands<T>(state.matrix, control.operation, device(), B, X);
    if (state.preconditioner && state.preconditioner->is_solver()) {
      check_preconditioner(*state.preconditioner->solver()->state_, state.matrix.rows());
    }
    return solve_columns(*implementation_, state, B, X, control);
  });
}

template <class T>
const Solver<T>* Preconditioner<T>::solver() const {
  if (!is_solver_) return nullptr;
  const std::shared_ptr<const SolverState<T>> state = state_.lock();
  if (state == nullptr)
    throw Error("the solver that was given as the preconditioner does not exist any more");
  return state->owner;
}

#define ECHELON_INSTANTIATE(T) \
  template class Solver<T>;    \
  template class Preconditioner<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

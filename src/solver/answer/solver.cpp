// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "backend/check_same_memory.hpp"
#include "backend/dispatch.hpp"
#include "matrix/assign.hpp"
#include "matrix/row_blocks.hpp"
#include "matrix/view_checks.hpp"
#include "matrix/views/borrowed_arrays.hpp"
#include "solver/answer/columns_solve.hpp"
#include "solver/column_report.hpp"
#include "solver/implementation.hpp"
#include "solver/nested_solver.hpp"
#include "solver/progress.hpp"
#include "support/machine_epsilon.hpp"
#include "support/scalar.hpp"
#include "support/stopwatch.hpp"
#include "support/text.hpp"
#include "support/workspace_pool.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/transform.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// The object that a solver has, unless it was moved from.
template <class Object>
Object& of_solver(const std::unique_ptr<Object>& object) {
  if (object == nullptr)
    throw Error("the solver has been moved from: only the one that it was moved to solves");
  return *object;
}

}  // namespace

template <class T>
Solver<T>::Solver(std::unique_ptr<SolverImplementation<T>> implementation)
    : implementation_(std::move(implementation)) {
  at_api_boundary([this] {
    state_ = std::make_unique<SolverState<T>>();
    state_->residual_check =
        on_target(device(), [this]<class Target>() { return make_residual_check<Target, T>(device()); });
  });
}
template <class T>
Solver<T>::Solver(Solver&&) noexcept = default;
template <class T>
Solver<T>& Solver<T>::operator=(Solver&&) noexcept = default;
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

namespace {

/// Names of the methods of a kind: "bicgstab, cg, gmres".
template <class F>
std::string names_of_methods(const F& is_of_kind) {
  std::string names;
  for (const Method& method : methods()) {
    if (is_of_kind(method)) names += (names.empty() ? "" : ", ") + method.name;
  }
  return names;
}

template <class T>
void check_matrix(const MatrixRef<T>& A, const SolverImplementation<T>& implementation) {
  if (A.rows() != A.columns() && !implementation.takes_any_shape()) {
    const auto takes_any = [](const Method& method) { return method.needs == MethodNeeds::any_shape; };
    throw DimensionMismatch(fmt::format("A is {} by {}: {} needs a square matrix; {} take any shape",
                                        A.rows(), A.columns(), implementation.name(),
                                        names_of_methods(takes_any)));
  }
  check_same_memory(implementation.device(), "the solver", A.device(), "A");
  if (A.is_operator() && !implementation.takes_operator()) {
    throw Error(fmt::format(
        "{} needs the elements of A, and a linear operator has none: {} solve with its products alone",
        implementation.name(), names_of_methods([](const Method& method) { return method.operators; })));
  }
  if (!A.is_sparse() && !A.is_operator()) check_view(A.dense(), "A");
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

namespace {

/// Makes `copy` 2^exponent A. False, without a copy, if an element would lose bits.
template <class T>
bool scale_matrix(const MatrixRef<T>& A, int exponent, ResidualCheck<T>& residual_check, Matrix<T>& copy) {
  T* elements = nullptr;
  if (const Csr<T>* csr = A.csr()) {
    elements = copy.template emplace<Csr<T>>(csr->to(A.device())).values().data();
  } else {
    Dense<T>& dense = copy.template emplace<Dense<T>>(A.device(), A.rows(), A.columns());
    assign<T>(A.dense(), dense);
    elements = dense.data();
  }
  const bool exact = residual_check.scales_exactly(A.nonzeros(), exponent, elements);
  if (exact) {
    residual_check.scale(A.nonzeros(), exponent, elements);
  } else {
    copy = Matrix<T>();
  }
  return exact;
}

/// Lower bound of ||A^-1||_2 from the vector 1 of ones: sqrt(n) / ||A 1||_2, and n / (1^T A 1) for a positive
/// definite A, whose smallest eigenvalue is at most the Rayleigh quotient. A weakly grounded network has an
/// eigenvector near 1. Zero if A 1 = 0.
double inverse_norm_of_ones(const ProductWithOnes& product, std::int64_t rows, MethodNeeds needs) {
  const auto n = static_cast<double>(rows);
  double bound = product.norm2 > 0 ? std::sqrt(n) / product.norm2 : 0;
  const bool definite =
      needs == MethodNeeds::symmetric_positive_definite || needs == MethodNeeds::diagonally_dominant;
  if (definite && product.sum != 0) bound = std::max(bound, n / std::abs(product.sum));
  return bound;
}

/// Whether the set-up leaves it open that A is singular: that of an iterative method says nothing of it, but
/// the product with ones does.
template <class T>
bool may_be_singular(const SolverState<T>& state, const std::optional<ProductWithOnes>& ones) {
  constexpr double epsilon = machine_epsilon<T>;
  const Outcome& setup = state.setup;
  if (ones) {
    const double rounding = 1000 * epsilon * std::sqrt(static_cast<double>(state.matrix.rows()));
    return setup.ok() && ones->norm2 <= rounding * state.norm_inf;
  }
  if (setup.ok()) return setup.reciprocal_condition && *setup.reciprocal_condition < 1e4 * epsilon;
  return setup.status == Status::underdetermined || (setup.status == Status::singular && !setup.row);
}

/// The null space that solves project out: that of a sparse A, for methods that do not find it, do not take
/// matrices of any rank, and are not made for Laplacians.
template <class T>
NullSpaceBasis<T> null_space_to_project(SolverImplementation<T>& method, const SolverState<T>& state,
                                        const std::optional<ProductWithOnes>& ones) {
  const Dense<double>& candidates = method.near_null_space();
  if (candidates.columns() > 0 && candidates.rows() != state.matrix.rows()) {
    throw DimensionMismatch(fmt::format("the near-null-space vectors have {} rows, A has {}",
                                        candidates.rows(), state.matrix.rows()));
  }
  const std::vector<double> elements = candidates.to_vector();
  if (!std::all_of(elements.begin(), elements.end(), [](double v) { return std::isfinite(v); }))
    throw Error("the near-null-space vectors have a NaN or Inf");
  const bool given = ones && state.setup.ok() && candidates.columns() > 0;
  if (!finds_null_spaces<T> || !state.matrix.is_sparse() || !(given || may_be_singular(state, ones)))
    return {};
  const bool knows_it = method.takes_any_rank() ||
                        method_with(method, [](const auto& m) { return m.finds_null_space(); }) != nullptr ||
                        find_method(method.name()).needs == MethodNeeds::diagonally_dominant;
  if (knows_it) return {};
  return make_projection<T>(method.device())->find(*state.matrix.csr(), candidates);
}

/// Sets a method up for A, or for new values of A in its pattern.
template <class T>
Report set_up(SolverImplementation<T>& method, SolverState<T>& state, const MatrixRef<T>& A, bool update,
              const Control& control) {
  const Stopwatch stopwatch;
  const ReportedSetup reported(control, method.name());
  state.ready = false;
  state.workspaces.clear();
  state.transposed.reset();
  state.given = A;
  state.matrix = A;
  MatrixFacts facts = state.residual_check->matrix(A);
  state.exponent = facts.row || A.is_operator() || method.damping() > 0
                       ? 0
                       : state.given_exponent.value_or(moderating_exponent<T>(facts.norm_inf));
  state.scaled_copy = Matrix<T>();
  if (state.exponent != 0 && scale_matrix(A, state.exponent, *state.residual_check, state.scaled_copy)) {
    state.matrix = state.scaled_copy;
    facts = state.residual_check->matrix(state.matrix);
    if (!update) method.analyze(state.matrix);  // an analysis of A itself may have kept scale factors
  } else {
    state.exponent = 0;
  }
  state.exact = std::make_unique<ExactRank<T>>(state.matrix);
  state.norm_inf = facts.norm_inf;
  state.smallest_row = facts.smallest_row;
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
    method.set_control(reported.control());
    state.setup = update ? method.update_values(state.matrix) : method.setup(state.matrix);
    method.set_control({});
  }
  const bool square_iterative = method.stop() != nullptr && A.rows() == A.columns();
  std::optional<ProductWithOnes> ones;
  if (square_iterative && !facts.row && A.is_sparse() && A.rows() > 0)
    ones = state.residual_check->product_with_ones(*state.matrix.csr());
  state.null_space = null_space_to_project(method, state, ones);
  // A constant that is a null vector bounds nothing.
  state.inverse_norm = ones && state.null_space.dimension() == 0
                           ? inverse_norm_of_ones(*ones, A.rows(), find_method(method.name()).needs)
                           : 0;
  state.residual_check->synchronize();
  reported.end(SolverPhase::setup, state.setup.ok());
  state.ready = true;
  Report report = as_setup(report_of(method, state.setup));
  report.column = state.nonfinite_column;
  report.analysis_seconds = state.analysis_seconds;
  report.setup_seconds = state.setup_seconds = stopwatch.seconds();
  return report;
}

/// Has a method chosen and set up.
template <class T>
Report set_up(MethodChooser<T>& chooser, SolverState<T>& state, const MatrixRef<T>& A, bool update,
              const Control& control) {
  state.ready = false;
  state.given = state.matrix = A;
  Report report = chooser.setup(A, update, control);
  state.setup = {.status = report.ready() ? Status::direct : report.status, .message = report.message};
  state.ready = true;
  return report;
}

}  // namespace

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
                    state.matrix.is_operator() == A.is_operator();
  return run_setup(A, same && state.setup.ok(), control);
}

template <class T>
Report Solver<T>::update_values(std::span<const T> values, const Control& control) {
  SolverState<T>& state = of_solver(state_);
  if (!state.ready) throw Error("update_values was called before setup (or factor)");
  const Csr<T>* const given = state.given.csr();
  if (given == nullptr) throw Error("values alone are not enough for a matrix that is not sparse");
  const std::int64_t count = std::ssize(values);
  if (count != given->nonzeros()) {
    throw DimensionMismatch(
        fmt::format("{} values for a matrix with {} stored elements", count, given->nonzeros()));
  }
  auto revalued = std::make_unique<Csr<T>>(
      CsrAccess::with_pattern_of<T>(*given, borrow(given->device(), values.data(), count)));
  // The method may refer to the matrix that it was set up for until its update ends.
  const std::unique_ptr<Csr<T>> previous = std::exchange(state.revalued, std::move(revalued));
  return update_values(MatrixRef<T>(*state.revalued), control);
}

template <class T>
void Solver<T>::set_preconditioner(const Preconditioner<T>& preconditioner) {
  SolverImplementation<T>& method = of_solver(implementation_);
  check_same_memory(device(), "the solver", preconditioner.device(), "the preconditioner");
  if (preconditioner.solver() == nullptr && !preconditioner.callable()) {
    throw Error("the preconditioner is an empty function");
  }
  for (const Solver<T>* other = preconditioner.solver(); other != nullptr;
       other = of_solver(other->state_).preconditioner) {
    if (other == this) {
      throw Error("a solver cannot be its own preconditioner, neither directly nor through others");
    }
  }
  at_api_boundary([&] { method.set_preconditioner(preconditioner); });
  state_->preconditioner = preconditioner.solver();
  state_->has_preconditioner = true;
  state_->transposed.reset();
  state_->workspaces.clear();
}

namespace {

/// Throws Error unless a set-up left the result `what`, or found that A is singular.
template <class T>
void check_result(const SolverState<T>& state, const char* what) {
  if (!state.ready) throw Error(fmt::format("{} was called before setup (or factor)", what));
  const Outcome& setup = state.setup;
  if (!has_factor(setup) && setup.status != Status::singular)
    throw Error(fmt::format("there is no {} without factors: {}", what, setup.message));
}

}  // namespace

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

template <class T>
void check_operands(const MatrixRef<T>& A, Operation operation, const Device& device, DenseView<const T> B,
                    DenseView<const T> X) {
  const bool transposed = operation != Operation::none;
  const std::int64_t m = transposed ? A.columns() : A.rows();
  const std::int64_t n = transposed ? A.rows() : A.columns();
  check_view(B, "B");
  check_result_view(X, "X");
  if (B.rows() != m || X.rows() != n || B.columns() != X.columns()) {
    throw DimensionMismatch(
        fmt::format("{} is {} by {}, B is {} by {}, X is {} by {}: B needs {} rows, X {}, and both the same "
                    "number of columns",
                    transposed ? "A^T" : "A", m, n, B.rows(), B.columns(), X.rows(), X.columns(), m, n));
  }
  check_same_memory(device, "the solver", B.device(), "B");
  check_same_memory(device, "the solver", X.device(), "X");
  if (overlap(B, X) && !same_elements(B, X)) {
    throw OverlappingOperands("B and X share a part of their memory: X has to be B itself, or elsewhere");
  }
  if (!A.is_sparse() && !A.is_operator() && overlap(A.dense(), X)) {
    throw OverlappingOperands("A and X share memory: write X elsewhere");
  }
  if (const Csr<T>* csr = A.csr()) {
    const std::int64_t count = csr->nonzeros();
    const DenseView<const T> values(csr->values().data(), count, 1, count, csr->device());
    if (overlap(values, X))
      throw OverlappingOperands("the values of A and X share memory: write X elsewhere");
  }
}

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

/// Throws unless a solver is set up to precondition a matrix of order n.
template <class T>
void check_preconditioner(const SolverState<T>& preconditioner, std::int64_t n) {
  if (!preconditioner.ready) throw Error("the preconditioner has not been set up");
  const MatrixRef<T>& matrix = preconditioner.matrix;
  if (matrix.rows() != n || matrix.columns() != n) {
    throw DimensionMismatch(
        fmt::format("the preconditioner is set up for a matrix of {} by {}, A is {} by {}", matrix.rows(),
                    matrix.columns(), n, n));
  }
  if (!has_factor(preconditioner.setup)) {
    throw Error("the set-up of the preconditioner failed: " + preconditioner.setup.message);
  }
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

namespace {

/// A method for symmetric matrices that is set up for A, as one for A^T: the residual, which is that of A^T,
/// shows whether A is symmetric.
template <class T>
class SymmetricMethod final : public SolverImplementation<T> {
 public:
  SymmetricMethod(const SolverImplementation<T>& method, const Outcome& outcome)
      : SolverImplementation<T>(method.device()), method_(method), outcome_(outcome) {}
  Outcome setup(const MatrixRef<T>& /*transpose*/) override { return outcome_; }
  [[nodiscard]] std::unique_ptr<Workspace> make_workspace() const override {
    return method_.make_workspace();
  }
  void solve(Workspace& workspace, DenseView<const T> B, DenseView<T> X,
             std::vector<Job>& jobs) const override {
    method_.solve(workspace, B, X, jobs);
  }
  [[nodiscard]] const Stop* stop() const override { return method_.stop(); }
  [[nodiscard]] bool takes_operator() const override { return method_.takes_operator(); }
  [[nodiscard]] std::size_t bytes() const override { return method_.bytes(); }

 private:
  const SolverImplementation<T>& method_;
  const Outcome& outcome_;
};

bool is_for_symmetric_matrices(const std::string& name) {
  const MethodNeeds needs = find_method(name).needs;
  return needs == MethodNeeds::symmetric || needs == MethodNeeds::symmetric_positive_definite ||
         needs == MethodNeeds::diagonally_dominant;
}

/// The method for A^T that a set-up for A allows without another one; null if there is none. A Hermitian A
/// differs from its transpose.
template <class T>
std::unique_ptr<SolverImplementation<T>> method_for_transpose(const SolverImplementation<T>& method,
                                                              const Outcome& setup) {
  if (!has_factor(setup)) return nullptr;
  if (auto transposed = method.transposed()) return transposed;
  if (!is_complex<T> && is_for_symmetric_matrices(method.name()))
    return std::make_unique<SymmetricMethod<T>>(method, setup);
  return nullptr;
}

/// Solves conj(A) X = B by a solver for A: A conj(X) = conj(B).
template <class T>
Report solve_conjugated(const Solver<T>& solver, DenseView<const T> B, DenseView<T> X,
                        const Control& control) {
  check_view(B, "B");
  check_result_view(X, "X");
  check_same_memory(solver.device(), "the solver", B.device(), "B");
  check_same_memory(solver.device(), "the solver", X.device(), "X");
  const auto vectors = on_target(
      solver.device(), [&]<class Target>() { return make_residual_check<Target, T>(solver.device()); });
  const auto conjugate = [&](Dense<T>& vector) {
    vectors->conjugate(vector.rows() * vector.columns(), vector.data());
  };
  Dense<T> b(solver.device(), B.rows(), B.columns());
  Dense<T> x(solver.device(), X.rows(), X.columns());
  assign<T>(B, b);
  assign<T>(X, x);
  conjugate(b);
  conjugate(x);
  Report report = solver.solve(b, x, control);
  conjugate(x);
  assign<T>(x, X);
  return report;
}

void check_control(const Control& control) {
  if (control.rtol && !(*control.rtol >= 0 && *control.rtol <= 1))
    throw BadOption("rtol", fmt::format("{} is not in [0, 1]", *control.rtol));
  if (control.atol && !(*control.atol >= 0 && std::isfinite(*control.atol)))
    throw BadOption("atol", fmt::format("{} is not a number of at least 0", *control.atol));
  if (control.max_iterations && *control.max_iterations < 0)
    throw BadOption("max_iterations", fmt::format("{} is negative", *control.max_iterations));
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
  if (auto of_factors = method_for_transpose(method, state.setup)) {
    of_factors->set_description(method.name(), method.changed_options());
    system->solver.emplace(std::move(of_factors));
    system->solver->state_->given_exponent = state.exponent;
  } else if (!state.has_preconditioner && method.maker()) {
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
    if (const Solver<T>* const preconditioner = state.preconditioner) {
      check_preconditioner(of_solver(preconditioner->state_), state.matrix.rows());
    }
    return solve_columns(*implementation_, state, B, X, control);
  });
}

#define ECHELON_INSTANTIATE(T) template class Solver<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

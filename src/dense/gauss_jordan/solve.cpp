// SPDX-License-Identifier: BSD-3-Clause
// All solutions of A X = B.
#include "dense/gauss_jordan/factor_precision.hpp"
#include "dense/gauss_jordan/operations.hpp"
#include "dense/gauss_jordan/refined_system.hpp"
#include "dense/gauss_jordan/system.hpp"
#include "dense/gauss_jordan/workspace.hpp"
#include "matrix/assign.hpp"
#include "solver/column_report.hpp"
#include "solver/factor_status.hpp"
#include "support/stopwatch.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// Measures the residual of x, column j of X, and adds it to the report, which has the condition estimate.
/// `outcome`: as far as it is known from the factorisation. `r`: workspace.
template <class T>
void report_column(ResidualCheck<T>& residual_check, const MatrixRef<T>& A, double norm_inf, const T* b,
                   const T* x, T* r, std::int64_t iterations, Outcome outcome, Report& report) {
  const auto [rhs, solution, residual] = residual_check.solution(A, b, x, r);
  ColumnReport column = measured_column(rhs, solution, residual, norm_inf);
  column.iterations = iterations;
  if (report.reciprocal_condition) {
    column.error_estimate = direct_error_estimate<T>(column.backward_error, *report.reciprocal_condition);
  }
  if (rhs.nonfinite) {
    outcome = {Status::not_a_number,
               "b has a NaN or Inf at row " + std::to_string(*rhs.nonfinite) + " (from 0)", rhs.nonfinite};
  }
  check_finite(solution, outcome);
  check_backward_error(column.backward_error, acceptable_backward_error<T>, outcome);
  add_column(column, residual.norm2, outcome, report);
}

/// Sets the condition estimate of a factorisation.
void report_condition(double reciprocal_condition, Report& report) {
  report.reciprocal_condition = reciprocal_condition;
  report.condition_kind = ConditionKind::factored;
}

/// Fills in a solution by a factorisation in lower precision. Returns the reason why it is not accurate, or
/// nothing.
template <class B, class T>
std::string solve_refined(BackendWorkspace<B, T>& own, FloatProducts products,
                          const GaussJordanOptions& options, const MatrixRef<T>& A, DenseView<const T> rhs,
                          GeneralSolution<T>& solution) {
  const Stopwatch stopwatch;
  if (A.rows() != A.columns()) return not_square;
  RefinedSystem<B, T> system(own.lower().elimination, products, options);
  std::string why = system.factor(A);
  if (!why.empty()) return why;
  Report& report = solution.report;
  report.setup_seconds = stopwatch.seconds();
  solution.X = Dense<T>(own.device, A.columns(), rhs.columns());
  const DenseView<T> X = solution.X.view();
  const auto workspace = system.make_workspace(std::max(rhs.columns(), std::int64_t{1}), &system.backend());
  const std::vector<RefinementOutcome> columns = system.solve(*workspace, A, rhs, X);
  why = describe_inaccuracy(columns);
  if (!why.empty()) return why;
  report_condition(system.reciprocal_condition(), report);
  for (std::int64_t j = 0; j < rhs.columns(); ++j) {
    report_column<T>(*own.residual_check, A, system.norm_inf(), rhs.column(j), X.column(j),
                     workspace->residual.data(), columns[static_cast<std::size_t>(j)].steps,
                     assess_condition<T>(system.reciprocal_condition()), report);
  }
  solution.facts = system.facts();
  solution.pivot_columns = system.pivot_columns();
  solution.null_space = Dense<T>(own.device, A.columns(), 0);
  report.bytes = system.bytes() + workspace->bytes();
  report.solve_seconds = stopwatch.seconds() - report.setup_seconds;
  return why;
}

/// X for all right-hand sides, and their part of the report.
template <class B, class T>
void solve_columns(const EliminatedSystem<B, T>& system, ResidualCheck<T>& residual_check,
                   const MatrixRef<T>& A, DenseView<const T> rhs, DenseView<T> X, Report& report) {
  const auto workspace = system.make_workspace(std::max(rhs.columns(), std::int64_t{1}), &system.backend());
  system.solve(*workspace, A, rhs, X);
  const Outcome from_condition =
      system.rank() == system.columns() ? assess_condition<T>(system.reciprocal_condition()) : Outcome{};
  for (std::int64_t j = 0; j < rhs.columns(); ++j) {
    Outcome outcome = system.assess_solution(*workspace, A, rhs.column(j), X.column(j));
    if (outcome.ok()) outcome = from_condition;
    report_column<T>(residual_check, A, system.factorization().norm_inf(), rhs.column(j), X.column(j),
                     workspace->residual.data(), 0, std::move(outcome), report);
  }
  report.bytes = system.bytes() + workspace->bytes();
}

template <class B, class T>
GeneralSolution<T> solve_in_working_precision(BackendWorkspace<B, T>& own, const GaussJordanOptions& options,
                                              const MatrixRef<T>& A, DenseView<const T> rhs) {
  const Stopwatch stopwatch;
  GeneralSolution<T> solution;
  Report& report = solution.report;
  EliminatedSystem<B, T> system(own.elimination, options);
  const Outcome outcome = system.factor(A);
  report = operation_report(own.device, outcome);
  report.setup_seconds = stopwatch.seconds();
  if (!outcome.ok()) {
    report.column = system.factorization().nonfinite_column();
    return solution;
  }
  solution.facts = system.facts();
  solution.pivot_columns = system.factorization().pivot_columns();
  if (system.rank() == A.columns()) report_condition(system.reciprocal_condition(), report);
  if (solution.facts.doubtful) report.warnings.push_back(system.rank_description());
  const Stopwatch solving;
  solution.X = Dense<T>(own.device, A.columns(), rhs.columns());
  solve_columns(system, *own.residual_check, A, rhs, solution.X.view(), report);
  solution.null_space = system.factorization().null_space();
  report.solve_seconds = solving.seconds();
  return solution;
}

/// In the requested precision if that yields accurate solutions, otherwise in the working precision.
template <class B, class T>
GeneralSolution<T> solve_general(BackendWorkspace<B, T>& own, const GaussJordanOptions& options,
                                 const MatrixRef<T>& A, DenseView<const T> rhs) {
  const Stopwatch stopwatch;
  Dense<T> column_major;
  if (rhs.layout() == Layout::row_major) {
    column_major = Dense<T>(own.device, rhs.rows(), rhs.columns());
    assign<T>(rhs, column_major);
    rhs = column_major.view();
  }
  const std::optional<FloatProducts> products = requested_products<B, T>(options);
  std::string why;
  if (products) {
    GeneralSolution<T> solution;
    solution.report = operation_report(own.device, {});
    why = solve_refined(own, *products, options, A, rhs, solution);
    solution.report.factor_precision = report_factor_precision<B, T>(options, why);
    if (why.empty()) return solution;
  }
  const double attempt_seconds = stopwatch.seconds();
  GeneralSolution<T> solution = solve_in_working_precision(own, options, A, rhs);
  solution.report.factor_precision = report_factor_precision<B, T>(options, why);
  solution.report.setup_seconds += attempt_seconds;
  return solution;
}

}  // namespace

template <class Target, class T>
std::unique_ptr<OperationWorkspace> make_operation_workspace(const Device& device) {
  return on_backend(device, [&]<class B>() -> std::unique_ptr<OperationWorkspace> {
    return std::make_unique<BackendWorkspace<B, T>>(device);
  });
}

template <class Target, class T>
GeneralSolution<T> solve_on(OperationWorkspace& workspace, const GaussJordanOptions& options,
                            const MatrixRef<T>& A, DenseView<const T> rhs) {
  return on_backend(workspace.device, [&]<class B>() {
    return solve_general<B, T>(workspace_of<B, T>(workspace), options, A, rhs);
  });
}

template std::unique_ptr<OperationWorkspace> make_operation_workspace<ThisTarget, float>(const Device&);
template std::unique_ptr<OperationWorkspace> make_operation_workspace<ThisTarget, double>(const Device&);
template GeneralSolution<float> solve_on<ThisTarget>(OperationWorkspace&, const GaussJordanOptions&,
                                                     const MatrixRef<float>&, DenseView<const float>);
template GeneralSolution<double> solve_on<ThisTarget>(OperationWorkspace&, const GaussJordanOptions&,
                                                      const MatrixRef<double>&, DenseView<const double>);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "solver/selection/placed_solver.hpp"

#include "solver/nested_solver.hpp"
#include "solver/selection/dominance_bound.hpp"
#include "support/stopwatch.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace echelon {

template <class T>
PlacedSolver<T>::PlacedSolver(Candidate candidate, Solver<T> solver, double analysis_seconds,
                              std::optional<CostPrediction> factor)
    : candidate_(std::move(candidate)),
      method_(&find_method(candidate_.method)),
      solver_(std::move(solver)),
      analysis_seconds_(analysis_seconds),
      factor_(factor) {}

template <class T>
Report PlacedSolver<T>::analyze(PlacedMatrix<T>& A, const Control& control) {
  double transfer_seconds = 0;
  Report report = solver_.analyze(A.on(device(), transfer_seconds), control);
  return std::move(describe(report, transfer_seconds));
}

template <class T>
Report PlacedSolver<T>::setup(std::shared_ptr<PlacedMatrix<T>> A, bool update, const Control& control) {
  const Stopwatch stopwatch;
  transfer_seconds_ = 0;
  const MatrixRef<T> there = A->on(device(), transfer_seconds_);
  Report report = update ? solver_.update_values(there, control) : solver_.setup(there, control);
  check_.reset();
  setup_seconds_ = stopwatch.seconds();
  matrix_ = std::move(A);  // the solver no longer refers to the one before
  return std::move(describe(report, transfer_seconds_));
}

template <class T>
Report PlacedSolver<T>::solve(DenseView<const T> B, DenseView<T> X, const Control& control) {
  const Stopwatch taking;
  Dense<T> b;
  const DenseView<const T> rhs = placed_on(device(), B, b);
  const double transfer_seconds = transfer_seconds_ + (b.rows() > 0 ? taking.seconds() : 0);
  if (same_memory(device(), X.device())) {
    Report report = solver_.solve(rhs, X, control);
    measure_error(rhs, X, control, report);
    return std::move(describe(report, transfer_seconds));
  }
  Dense<T> x =
      control.use_initial_guess ? packed<T>(X).to(device()) : Dense<T>(device(), X.rows(), X.columns());
  Report report = solver_.solve(rhs, x, control);
  measure_error(rhs, x.view(), control, report);
  const Stopwatch returning;
  if (!report.columns.empty()) assign<T>(x.to(X.device()).view(), X);
  return std::move(describe(report, transfer_seconds + returning.seconds()));
}

template <class T>
void PlacedSolver<T>::measure_error(DenseView<const T> B, DenseView<const T> X, const Control& control,
                                    Report& report) {
  const MatrixRef<T>& A = matrix_->given();
  const bool answered = report.status == Status::converged || (A.rows() != A.columns() && report.solved());
  const bool damped = SolverAccess<T>::implementation(solver_).damping() > 0;
  if (is_direct() || !control.measure_error || !answered || damped) return;
  const Stopwatch stopwatch;
  if (bound_error(B, X, control.operation, report)) {
    report.solve_seconds += stopwatch.seconds();
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (check_ == nullptr) {
      check_ = std::make_unique<const EliminationCheck<T>>(
          *matrix_, device(), method_->needs, SolverAccess<T>::implementation(solver_).near_null_space(),
          factor_);
    }
  }
  check_->measure(B, X, control.operation, report);
  report.solve_seconds += stopwatch.seconds();
}

template <class T>
bool PlacedSolver<T>::bound_error(DenseView<const T> B, DenseView<const T> X, Operation operation,
                                  Report& report) const {
  constexpr double most = 1e-3;
  constexpr std::int64_t few_rows = 256;  // elimination takes no longer, and measures the error
  const MatrixRef<T>& A = matrix_->given();
  const bool readable = A.is_sparse() && A.device().on_host() && B.device().on_host();
  if (!readable || A.rows() <= few_rows || A.rows() != A.columns() || operation != Operation::none)
    return false;
  Dense<T> own_b, own_x;  // of rows that are stored one after the other
  const auto by_columns = [](DenseView<const T> view, Dense<T>& copy) -> DenseView<const T> {
    if (view.layout() == Layout::column_major) return view;
    return copy = packed(view);
  };
  const DenseView<const T> b = by_columns(B, own_b);
  const DenseView<const T> x = by_columns(X, own_x);
  std::vector<double> bounds;
  for (std::int64_t j = 0; j < X.columns(); ++j) {
    const std::optional<double> bound = dominance_error_bound(*A.csr(), b.column(j), x.column(j));
    if (!bound || *bound > most) return false;
    bounds.push_back(*bound);
  }
  for (std::size_t j = 0; j < report.columns.size() && j < bounds.size(); ++j)
    report.columns[j].error_estimate = bounds[j];
  if (!bounds.empty()) report.error_estimate = *std::ranges::max_element(bounds);
  return true;
}

template <class T>
Report& PlacedSolver<T>::describe(Report& report, double transfer_seconds) const {
  report.method = solver_.describe();
  report.reason = candidate_.reason;
  report.analysis_seconds += analysis_seconds_;
  report.transfer_seconds = transfer_seconds;
  return report;
}

#define ECHELON_INSTANTIATE(T) template class PlacedSolver<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "commands/measure.hpp"

#include "arguments/method_options.hpp"
#include "output/json.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"

#include <echelon/solver.hpp>

#include <algorithm>
#include <cstdio>
#include <type_traits>
#include <variant>

namespace echelon::tool {

namespace {

constexpr std::int64_t several_columns = 10;

void report_step(const Json& figures) {
  print_result(json_line(figures) + "\n");
  std::fflush(stdout);
}

template <class T>
Matrix<T> on_device(const Matrix<T>& A, const Device& device) {
  return std::visit([&](const auto& held) { return Matrix<T>(held.to(device)); }, A);
}

/// Multiples 1, 2, ... of the first column of b.
template <class T>
Dense<T> multiples(const Dense<T>& b) {
  Dense<T> B(Device(), b.rows(), several_columns);
  for (std::int64_t j = 0; j < several_columns; ++j) {
    for (std::int64_t i = 0; i < b.rows(); ++i) B(i, j) = static_cast<T>(j + 1) * b(i, 0);
  }
  return B;
}

/// Set-up and update; whether the set-up succeeded.
template <class T>
bool measure_setup(Solver<T>& solver, const Matrix<T>& given, Matrix<T>& A, Json& figures) {
  const Device device = solver.device();
  const Stopwatch setup;
  A = on_device(given, device);
  const Report ready = solver.setup(MatrixRef<T>(A));
  figures.update(Json{{"method", solver.describe()},
                      {"setup_seconds", setup.seconds()},
                      {"status", to_string(ready.status)},
                      {"message", ready.message},
                      {"bytes", solver.bytes()}});
  report_step(figures);
  if (!ready.ready()) return false;
  const Stopwatch update;
  solver.update_values(MatrixRef<T>(A));
  figures["update_seconds"] = update.seconds();
  report_step(figures);
  return true;
}

/// One right-hand side: once for the figures, and once without the measurement of the error for the time.
template <class T>
Report measure_solve(const Solver<T>& solver, const Dense<T>& b, const Control& control, Json& figures) {
  const Dense<T> B = Dense<T>(b.to(solver.device()));
  Dense<T> X(solver.device(), B.rows(), 1);
  Report report = solver.solve(B.view(), X.view(), control);
  figures.update(Json{{"status", to_string(report.status)},
                      {"message", report.message},
                      {"solved", report.solved()},
                      {"iterations", report.iterations},
                      {"relative_residual", report.relative_residual},
                      {"backward_error", report.backward_error},
                      {"expected_digits", or_null(report.expected_digits())},
                      {"bytes", solver.bytes()},
                      {"solve_seconds", report.solve_seconds + report.transfer_seconds}});
  report_step(figures);
  if (!report.solved()) return report;
  Control plain = control;
  plain.measure_error = false;
  const Stopwatch stopwatch;
  const Report timed = solver.solve(B.view(), X.view(), plain);
  if (timed.solved()) figures["solve_seconds"] = stopwatch.seconds();
  report_step(figures);
  return report;
}

template <class T>
void measure_several(const Solver<T>& solver, const Dense<T>& b, Control control, Json& figures) {
  const Dense<T> B = Dense<T>(multiples(b).to(solver.device()));
  Dense<T> X(solver.device(), B.rows(), several_columns);
  control.measure_error = false;
  const Stopwatch stopwatch;
  const Report report = solver.solve(B.view(), X.view(), control);
  if (report.solved()) figures["solve_10_seconds"] = stopwatch.seconds();
  report_step(figures);
}

template <class T>
ExitCode measure_in(const ComparedSystem& system, const MeasuredMethod& method) {
  MatrixFile<T> file = read_input<T>(system.matrix, system.input);
  const Rhs<T> rhs = make_rhs<T>(system.right_hand_side, system.matrix, file);
  Dense<T> b(Device(), rhs.values.rows(), 1);
  std::copy_n(rhs.values.data(), b.rows(), b.data());
  if (!method.device.on_host()) static_cast<void>(Array<T>(method.device, 1));  // starts the device
  Solver<T> solver = make_solver<T>(method.name, method.device, method.options);
  Json figures = Json::object();
  Matrix<T> A;
  if (!measure_setup(solver, file.matrix, A, figures)) return exit_solved;
  Control control;
  if (find_method(method.name).kind == MethodKind::iterative) {
    control.rtol = system.tolerance();
    control.max_iterations = system.max_iterations;
  }
  if (measure_solve(solver, b, control, figures).solved()) measure_several(solver, b, control, figures);
  return exit_solved;
}

}  // namespace

ExitCode measure(const ComparedSystem& system, const MeasuredMethod& method) {
  return in_precision(system.precision, [&]<class T>() { return measure_in<T>(system, method); });
}

}  // namespace echelon::tool

// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/command_line.hpp"
#include "arguments/input.hpp"
#include "arguments/method_options.hpp"
#include "output/failure.hpp"
#include "output/files.hpp"
#include "output/plots.hpp"
#include "output/solve_outcome.hpp"
#include "support/text.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"

#include <echelon/error.hpp>
#include <echelon/io/matrix_market.hpp>
#include <echelon/linalg.hpp>
#include <echelon/solve.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace echelon::tool {

namespace {

struct Request {
  std::string matrix;
  InputOptions input;
  std::string right_hand_side;
  std::string precision = "double";
  std::string output;
  std::string plot;
  SolveOptions options;
  bool json = false;
  bool quiet = false;
};

void set_device(SolveOptions& options, const std::string& name) {
  if (name != "auto") options.device = Device::parse(name);
}

void add_options(CLI::App& app, Request& request) {
  SolveOptions& options = request.options;
  app.add_option("A", request.matrix, matrix_file_help)->required()->type_name("FILE");
  app.add_option("--rhs", request.right_hand_side,
                 "right-hand sides, m by k, in any format; without it those in A's file, else b = A * 1")
      ->type_name("FILE");
  app.add_option("--method", options.method, "auto (default), or a name that 'echelon methods' lists")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--device", [&](const std::string& name) { set_device(options, name); },
         "auto (default), serial, openmp, openmp:THREADS, cuda or cuda:GPU")
      ->type_name("DEVICE");
  app.add_option_function<std::string>(
         "--rtol", [&](const std::string& text) { options.rtol = number("--rtol", text, 1); },
         "solved when ||b - Ax|| <= max(rtol ||b||, atol); default 1e-8, in float 1e-5")
      ->type_name("X");
  app.add_option_function<std::string>(
         "--atol",
         [&](const std::string& text) {
           options.atol = number("--atol", text, std::numeric_limits<double>::max());
         },
         "default 0")
      ->type_name("X");
  app.add_option_function<std::string>(
         "--max-iterations",
         [&](const std::string& text) { options.max_iterations = whole_number("--max-iterations", text); },
         "default 10000")
      ->type_name("N");
  app.add_option_function<std::vector<std::string>>(
         "-p,--parameter",
         [&](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_parameter(options.parameters, text);
         },
         "an option of the method, see 'echelon --help solver:NAME'; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--precision", request.precision, "double (default) or float")->type_name("TYPE");
  app.add_option("-o,--output", request.output,
                 "write x here: Matrix Market, or .npy or .petsc; .gz behind it for gzip")
      ->type_name("FILE");
  app.add_option("--plot", request.plot, "draw the residual's history here")->type_name("FILE.svg");
  app.add_flag("--json", request.json, "the report as one line of JSON");
  app.add_flag("--quiet", request.quiet, "no progress, no notes");
  add_input_options(app, request.input);
}

void check_solution_format(const std::string& path) {
  const FileFormat format = output_format(path);
  if (format == FileFormat::matrix_market || format == FileFormat::npy || format == FileFormat::petsc) return;
  throw BadOption("--output", fmt::format("x cannot be written as {}: only as matrix-market, npy or petsc",
                                          to_string(format)));
}

/// Everything that can be wrong without A being known is found before a long read and a long solve.
template <class T>
void check_early(const Request& request) {
  const SolveOptions& options = request.options;
  if (options.device) require(*options.device);
  if (options.method != "auto") {
    const Method& method = find_method(options.method);
    const Device device = options.device.value_or(method.runs_on(Device()) ? Device() : Device::cuda());
    static_cast<void>(make_solver<T>(method.name, device, options.parameters));
  } else if (!options.parameters.empty()) {
    throw BadOption("parameter", "-p sets a method's option: say which method with --method NAME");
  }
  check_solution_format(request.output);
  check_writable(request.output);
  check_writable(request.plot);
}

template <class T>
Dense<T> read_right_hand_side(const std::string& path, const std::string& matrix, std::int64_t rows) {
  MatrixFile<T> file = read_matrix_file<T>(path);
  Dense<T> b = file.right_hand_sides.columns() > 0 ? std::move(file.right_hand_sides)
                                                   : to_dense(MatrixRef<T>(file.matrix));
  if (b.rows() != rows) {
    throw DimensionMismatch(
        fmt::format("{} has {} rows and {} has {}: they must agree", matrix, rows, path, b.rows()));
  }
  return b;
}

/// Where the right-hand sides are: the file asked for, else that of A if it holds any, else nowhere.
std::string right_hand_side_file(const Request& request, std::int64_t held_with_matrix) {
  return request.right_hand_side.empty() && held_with_matrix > 0 ? request.matrix : request.right_hand_side;
}

template <class T>
Dense<T> times_ones(MatrixRef<T> A) {
  const Device host;
  Dense<T> ones(host, A.columns(), 1);
  std::fill_n(ones.data(), A.columns(), T{1});
  Dense<T> b(host, A.rows(), 1);
  multiply<T>(1, A, ones.view(), 0, b.view());
  return b;
}

/// NaN where x has one.
template <class T>
double distance_from_ones(const Dense<T>& x) {
  double distance = 0;
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    const double difference = std::abs(static_cast<double>(x[i]) - 1);
    if (!(difference <= distance)) distance = difference;
    if (std::isnan(difference)) break;
  }
  return distance;
}

template <class T>
bool finite(const Dense<T>& x) {
  return std::all_of(x.data(), x.data() + x.rows() * x.columns(),
                     [](T value) { return std::isfinite(value); });
}

/// Whatever the status: an x that was reached is the user's to judge.
template <class T>
void write_solution(const Dense<T>& x, SolveOutcome& outcome) {
  if (outcome.output.empty() || !computed(outcome.report) || !finite(x)) return;
  const Report& report = outcome.report;
  const std::string how =
      fmt::format("x of A x = b, A from {}; {} by {}, relative residual {}", outcome.matrix,
                  to_string(report.status), report.method, short_number(report.relative_residual));
  if (output_format(outcome.output) == FileFormat::matrix_market) {
    write_matrix_market<T>(outcome.output, x, how);
  } else {
    write_matrix<T>(outcome.output, x);
  }
  outcome.output_written = true;
}

/// A full disk must not cost the report.
template <class Work>
void keep_failure(SolveOutcome& outcome, const Work& work) {
  try {
    work();
  } catch (const Error&) {
    outcome.write_failure = std::current_exception();
  }
}

/// The library would say it of "A".
void check_shape(const Request& request, const FileInfo& info) {
  const std::string& method = request.options.method;
  if (info.rows == info.columns) return;
  if (method != "auto" && find_method(method).needs == MethodNeeds::any_shape) return;
  throw DimensionMismatch(
      fmt::format("{} is {} by {}: --method {} needs a square matrix; gauss-jordan takes "
                  "any shape",
                  request.matrix, info.rows, info.columns, method));
}

template <class T>
SolveOutcome solve_in(const Request& request) {
  const Stopwatch total;
  SolveOutcome outcome;
  outcome.matrix = request.matrix;
  outcome.precision = request.precision;
  outcome.output = request.output;

  ProgressLine progress(request.quiet);
  progress.say("reading " + request.matrix);
  MatrixFile<T> file = read_input<T>(request.matrix, request.input);
  check_shape(request, file.info);
  const MatrixRef<T> A(file.matrix);
  outcome.right_hand_side = right_hand_side_file(request, file.right_hand_sides.columns());
  const bool given = !outcome.right_hand_side.empty();
  const Dense<T> b = !request.right_hand_side.empty()
                         ? read_right_hand_side<T>(request.right_hand_side, request.matrix, A.rows())
                     : given ? std::move(file.right_hand_sides)
                             : times_ones(A);
  outcome.file = file.info;
  outcome.nonzeros = A.nonzeros();
  outcome.matrix_bytes = std::visit([](const auto& matrix) { return matrix.bytes(); }, file.matrix);
  outcome.right_hand_sides = b.columns();
  outcome.read_seconds = total.seconds();
  if (request.json && !request.quiet && !given) {
    progress.clear();
    print_note("no --rhs given: b = A * 1");
  }

  const Interrupt interrupt(request.quiet);
  progress.say("setting up");
  const Control control{[&](const Progress& now) { progress.update(now); }, interrupt.token()};
  Solution<T> solution = solve<T>(A, b.view(), request.options, control);
  progress.clear();
  outcome.report = std::move(solution.report);
  outcome.hardware = hardware(outcome.report.device);
  if (!given && outcome.report.solved()) outcome.distance_from_ones = distance_from_ones(solution.x);
  keep_failure(outcome, [&] { write_solution(solution.x, outcome); });
  outcome.total_seconds = total.seconds();
  return outcome;
}

SolveOutcome solve_request(const Request& request) {
  check_precision(request.precision);
  if (request.precision == "float") return check_early<float>(request), solve_in<float>(request);
  return check_early<double>(request), solve_in<double>(request);
}

}  // namespace

ExitCode run_solve(const Arguments& arguments) {
  Request request;
  CLI::App app("Solves A x = b and reports how, and how well.", "echelon solve");
  set_style(app);
  add_options(app, request);
  app.footer("Example: echelon solve A.mtx --method gmres -p preconditioner=ilu0 --plot history.svg");
  if (!parse(app, arguments)) return exit_solved;
  SolveOutcome outcome = solve_request(request);
  if (!request.plot.empty()) {
    keep_failure(outcome, [&] { write_text(request.plot, history_svg(outcome)); });
  }
  if (request.json) {
    print_json(solve_json(outcome));
  } else {
    print_result(solve_text(outcome));
  }
  if (outcome.write_failure) return report_failure(outcome.write_failure, false);
  return exit_code(outcome.report.status);
}

}  // namespace echelon::tool

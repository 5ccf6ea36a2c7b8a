// SPDX-License-Identifier: BSD-3-Clause
#include "distributed/solve.hpp"

#include "arguments/command_line.hpp"
#include "arguments/input.hpp"
#include "arguments/method_options.hpp"
#include "arguments/near_null_space.hpp"
#include "arguments/right_hand_side.hpp"
#include "chains/steady_state.hpp"
#include "commands/factor_info.hpp"
#include "commands/ungrounded.hpp"
#include "distributed/plan.hpp"
#include "output/failure.hpp"
#include "output/files.hpp"
#include "output/pages.hpp"
#include "output/solve_outcome.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/certify.hpp>
#include <echelon/enum_words.hpp>
#include <echelon/error.hpp>
#include <echelon/matrix/complex.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/page/report_page.hpp>
#include <echelon/solve.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::tool {

namespace {

struct SolveRequest {
  std::string matrix;
  InputOptions input;
  RhsOption right_hand_side;
  NearNullSpaceOptions near_null_space;
  std::string partition;
  std::string precision = "double";
  std::string output;
  std::string map;
  std::string plot;
  std::string page;
  SolveOptions options;
  std::optional<std::int64_t> ranks;  ///< processes; unset: this one alone
  bool certify = false;
  bool certify_refined = false;
  bool steady_state = false;
  bool json = false;
  bool quiet = false;
};

void set_device(SolveOptions& options, const std::string& name) {
  if (name != "auto") options.device = Device::parse(name);
}

void add_system_options(CLI::App& app, SolveRequest& request) {
  add_matrix_argument(app, "A", request.matrix);
  app.add_option_function<std::string>(
         "--rhs", [&](const std::string& text) { request.right_hand_side = parse_rhs(text); },
         "b: a file of any matrix format or of plain text columns, - for standard input; row-sums (b = A * "
         "1), ones (b = 1), random[:SEED] (b in [-1, 1)), range[:SEED] (b = A v, v random). Default: those "
         "in A's file, else row-sums, or range if A * 1 = 0")
      ->type_name("FILE|KIND");
  add_near_null_space_options(app, request.near_null_space);
  add_file_option(app, "--partition", request.partition,
                  "text file with the subdomain of each row, from 0, for bddc");
  app.add_option("--precision", request.precision, "double by default")->type_name("double|float");
  add_input_options(app, request.input);
}

void add_method_options(CLI::App& app, SolveRequest& request) {
  SolveOptions& options = request.options;
  app.add_option("--method", options.method, "auto (default), or a name that 'echelon methods' lists")
      ->type_name("METHOD");
  app.add_option_function<std::string>(
         "--device", [&](const std::string& name) { set_device(options, name); },
         "auto (default), serial, openmp[:THREADS], cuda[:GPU] or opencl[:DEVICE]")
      ->type_name("DEVICE");
  app.add_option_function<std::string>(
         "--ranks", [&](const std::string& text) { request.ranks = parse_integer("--ranks", text); },
         "solve in N processes by cg or gmres under PETSc, which mpirun starts; for -p see 'echelon --help "
         "ranks'")
      ->type_name("N");
  app.add_option_function<std::string>(
         "--rtol", [&](const std::string& text) { options.rtol = parse_number("--rtol", text, 1); },
         "stop when ||b - Ax|| <= max(rtol ||b||, atol); default 1e-8, in float 1e-5")
      ->type_name("X");
  app.add_option_function<std::string>(
         "--atol",
         [&](const std::string& text) {
           options.atol = parse_number("--atol", text, std::numeric_limits<double>::max());
         },
         "see --rtol; default 0")
      ->type_name("X");
  app.add_option_function<std::string>(
         "--max-iterations",
         [&](const std::string& text) { options.max_iterations = parse_integer("--max-iterations", text); },
         "maximum number of iterations; default 10000")
      ->type_name("N");
  app.add_flag("--least-squares", options.least_squares,
               "where no x satisfies the equations, take an x of least residual as the answer");
  app.add_flag("--steady-state", request.steady_state,
               "find x >= 0 with the sum 1 and x^T A = 0, or x^T A = x^T, for the rates or the probabilities "
               "of a Markov chain, from the state of the row to that of the column");
  add_parameter_option(app, options.parameters,
                       "an option of the method, see 'echelon --help solver:NAME'; may be repeated");
}

void add_output_options(CLI::App& app, SolveRequest& request) {
  add_file_option(app, "-o,--output", request.output,
                  "write x: .npy, .npz, .petsc, .txt, .csv, else Matrix Market; gzip if the name ends in "
                  ".gz; - for standard "
                  "output (the report then goes to standard error)");
  add_file_option(app, "--map", request.map,
                  "write the row that eliminates each unknown, from 0, and -1 for a free unknown: of "
                  "mapped-echelon; formats as for x");
  add_file_option(app, "--plot", request.plot, "draw the convergence history")->type_name("FILE.svg");
  add_page_option(app, request.page);
  app.add_flag("--certify", request.certify,
               "prove a bound on the error of x, for a dense A, one of order up to 4096, an H-matrix, or a "
               "symmetric positive definite A");
  app.add_flag(
      "--certify-refined", request.certify_refined,
      "as --certify, after refining x to nearly its last bit, if A is proven to be invertible as a dense "
      "matrix; the report has the residual before that");
  app.add_flag("--json", request.json, "print the report as one line of JSON");
  app.add_flag("--quiet", request.quiet, "print no progress and no notes");
}

void add_options(CLI::App& app, SolveRequest& request) {
  add_system_options(app, request);
  add_method_options(app, request);
  add_output_options(app, request);
}

std::vector<std::string> input_files(const SolveRequest& request) {
  std::vector<std::string> files = {request.matrix};
  if (!request.right_hand_side.file.empty()) files.push_back(request.right_hand_side.file);
  if (files.size() == 2 && files[0] == "-" && files[1] == "-") {
    throw BadOption("--rhs", "A and --rhs cannot both be read from standard input");
  }
  for (std::string& file : files_of(request.near_null_space)) files.push_back(std::move(file));
  if (!request.partition.empty()) files.push_back(request.partition);
  return files;
}

/// Whether a method has an option; false for names of no method, which are refused elsewhere.
bool has_option(const std::string& method, std::string_view option) {
  const auto all = methods();
  const auto found = std::ranges::find(all, method, &Method::name);
  return found != all.end() &&
         std::ranges::find(found->options, option, &OptionInfo::name) != found->options.end();
}

/// Makes --partition the option of bddc, the method itself or its preconditioner.
void take_partition(SolveRequest& request) {
  if (request.partition.empty()) return;
  Options& parameters = request.options.parameters;
  if (has_option(request.options.method, "partition")) return parameters.set("partition", request.partition);
  for (const auto& [name, value] : parameters.entries()) {
    const auto* const text = std::get_if<std::string>(&value.get());
    if (name == "preconditioner" && text != nullptr && has_option(*text, "partition"))
      return parameters.set("preconditioner.partition", request.partition);
  }
  throw BadOption("--partition",
                  "only bddc divides A by a partition: --method bddc, or -p preconditioner=bddc");
}

void check_output_files(const SolveRequest& request) {
  const bool claims_unknowns = has_option(request.options.method, "claim");
  if (!request.map.empty() && !claims_unknowns)
    throw BadOption("--map", "mapped-echelon has a map of the unknowns: add --method mapped-echelon");
  check_dense_format({"--output", request.output});
  check_dense_format({"--map", request.map});
  check_plot_name({"--plot", request.plot});
  check_page_name({"--report", request.page});
  check_files(input_files(request), {{"--output", request.output},
                                     {"--map", request.map},
                                     {"--plot", request.plot},
                                     {"--report", request.page}});
}

/// Finds errors in the options and the output files before A, which may be large, is read.
void check_request(const SolveRequest& request) {
  static_cast<void>(scalar_of(request.precision));

  const SolveOptions& options = request.options;
  if (options.device) require(*options.device);
  if (request.ranks) {
    if (request.precision != "double")
      throw BadOption("--precision", "with --ranks, PETSc computes in double");
    check_distributed(options, *request.ranks);
  } else {
    const Method& method = find_method(options.method);  // whose table is made before the solve's time begins
    const Device device = options.device.value_or(method.runs_on(Device()) ? Device() : Device::cuda());
    require(device);
    method.check_options(device, options.parameters);
  }
  check_near_null_space(request.near_null_space);
  check_output_files(request);
}

/// Refuses options of systems, which a chain does not have.
void check_steady_state(const SolveRequest& request) {
  const SolveOptions& options = request.options;
  const bool has_others = request.right_hand_side.kind || request.ranks || request.certify ||
                          request.certify_refined || options.device || options.method != "auto" ||
                          options.least_squares || !options.parameters.entries().empty() ||
                          !request.map.empty() || !request.plot.empty() || !request.page.empty() ||
                          !files_of(request.near_null_space).empty() || request.precision != "double";
  if (has_others)
    throw BadOption("--steady-state",
                    "with --steady-state, solve takes the matrix of the chain, options for reading it, "
                    "--output, --json and --quiet");
}

/// max |x_i - 1|; NaN if x has one.
template <class T>
double distance_from_ones(const Dense<T>& x) {
  double distance = 0;
  for (std::int64_t i = 0; i < x.rows(); ++i) {
    const double difference = std::abs(static_cast<Dot<T>>(x[i]) - 1.0);
    if (!(difference <= distance)) distance = difference;
    if (std::isnan(difference)) break;
  }
  return distance;
}

template <class T>
bool finite(const Dense<T>& x) {
  return std::all_of(x.data(), x.data() + x.rows() * x.columns(), [](T value) {
    return std::isfinite(std::real(value)) && std::isfinite(std::imag(value));
  });
}

/// Writes x whatever the status, provided that there is one and its elements are finite.
template <class T>
void write_solution(const Dense<T>& x, SolveOutcome& outcome) {
  if (outcome.output.empty() || !has_solution(outcome.report) || !finite(x)) return;
  const Report& report = outcome.report;
  const std::string how =
      fmt::format("x of A x = b, A from {}; {} by {}, relative residual {}", input_name(outcome.matrix),
                  to_string(report.status), report.method, short_number(report.relative_residual));
  write_dense<T>(outcome.output, x, how);
  outcome.output_written = true;
}

/// Keeps a failure to write a file until the report is printed.
template <class Work>
void keep_failure(SolveOutcome& outcome, const Work& work) {
  try {
    work();
  } catch (const Error&) {
    outcome.write_failure = std::current_exception();
  }
}

template <class T>
RhsSource source_of(const Rhs<T>& rhs) {
  RhsSource source;
  source.kind = to_string(rhs.kind);
  source.file = rhs.file;
  source.columns = rhs.values.columns();
  source.description =
      rhs.kind == RhsKind::file ? input_name(rhs.file) : describe_rhs(rhs.kind, rhs.seed, rhs.is_default);
  if (rhs.kind == RhsKind::range || rhs.kind == RhsKind::random) source.seed = rhs.seed;
  return source;
}

void note_default(const SolveRequest& request, const RhsSource& source, ProgressLine& progress) {
  if (!request.json || request.quiet) return;
  progress.clear();
  print_note(source.description);
}

/// Rethrows `error`, whose message is about A and b, with the names of the files.
[[noreturn]] void throw_with_names(const DimensionMismatch& error, const SolveRequest& request) {
  std::string names = input_name(request.matrix);
  if (!request.right_hand_side.file.empty()) names += ", " + input_name(request.right_hand_side.file);
  throw DimensionMismatch(fmt::format("{}: {}", names, error.what()));
}

template <class T>
struct LinearSystem {
  MatrixFile<T> file;
  Rhs<T> b;
};

using AnySystem = std::variant<LinearSystem<float>, LinearSystem<double>, LinearSystem<std::complex<double>>>;

template <class T>
LinearSystem<T> system_of(const SolveRequest& request, MatrixFile<T>&& file) {
  LinearSystem<T> system{std::move(file), {}};
  system.b = make_rhs<T>(request.right_hand_side, request.matrix, system.file);
  return system;
}

/// A system of real A and of the vectors in a file, complex if these are.
AnySystem with_vectors(const SolveRequest& request, MatrixFile<double>&& file) {
  const RhsOption& option = request.right_hand_side;
  auto vectors = read_any_vectors(option.file);
  if (auto* const real = std::get_if<Dense<double>>(&vectors)) {
    return LinearSystem<double>{std::move(file), {std::move(*real), RhsKind::file, option.seed, option.file}};
  }
  LinearSystem<std::complex<double>> system;
  system.file.info = file.info;
  std::visit([&](const auto& matrix) { system.file.matrix = to_complex(matrix); }, file.matrix);
  system.b = {std::get<Dense<std::complex<double>>>(std::move(vectors)), RhsKind::file, option.seed,
              option.file};
  return system;
}

/// Reads A, and reads or makes b. The system is complex if one of them is.
AnySystem read_any_system(const SolveRequest& request) {
  if (request.precision == "float")
    return system_of(request, read_input<float>(request.matrix, request.input));
  AnyMatrixFile file = read_any_input(request.matrix, request.input);
  auto* const real = std::get_if<MatrixFile<double>>(&file);
  if (real == nullptr) return system_of(request, std::get<MatrixFile<std::complex<double>>>(std::move(file)));
  if (request.right_hand_side.kind == RhsKind::file) return with_vectors(request, std::move(*real));
  return system_of(request, std::move(*real));
}

/// Options that only real systems have.
void check_complex_request(const SolveRequest& request) {
  const auto refuse = [](const char* option, const char* why) {
    throw BadOption(option, fmt::format("{} {}, and this system is complex", option, why));
  };
  if (request.certify || request.certify_refined)
    refuse(request.certify ? "--certify" : "--certify-refined", "proves bounds for real systems");
  if (request.ranks) refuse("--ranks", "solves real systems");
}

/// Describes the system in the outcome.
template <class T>
void describe_system(const SolveRequest& request, const LinearSystem<T>& system, ProgressLine& progress,
                     SolveOutcome& outcome) {
  outcome.file = system.file.info;
  outcome.nonzeros = MatrixRef<T>(system.file.matrix).nonzeros();
  outcome.matrix_bytes = std::visit([](const auto& matrix) { return matrix.bytes(); }, system.file.matrix);
  outcome.right_hand_side = source_of(system.b);
  if (system.b.is_default) note_default(request, outcome.right_hand_side, progress);
}

/// Solves with a progress line.
template <class T>
Solution<T> solve_system(const SolveRequest& request, const LinearSystem<T>& system, ProgressLine& progress,
                         const CancellationToken& cancel) {
  progress.announce("setting up");
  SolveOptions options = request.options;
  options.on_progress = [&](const Progress& now) { progress.update(now); };
  options.cancel = cancel;
  options.near_null_space =
      read_near_null_space(request.near_null_space, MatrixRef<T>(system.file.matrix).rows());
  try {
    if constexpr (std::is_same_v<T, double>) {
      if (request.ranks) {
        Solution<T> solution = solve_distributed(MatrixRef<T>(system.file.matrix), system.b.values.view(),
                                                 options, *request.ranks);
        progress.clear();
        return solution;
      }
    }
    Solution<T> solution = solve<T>(MatrixRef<T>(system.file.matrix), system.b.values.view(), options);
    progress.clear();
    return solution;
  } catch (const DimensionMismatch& error) {
    throw_with_names(error, request);
  }
}

/// Refines x if requested, and computes a proven bound on its error or the reason why there is none.
template <class T>
void certify_solution(const SolveRequest& request, const LinearSystem<T>& system,
                      const CancellationToken& cancel, ProgressLine& progress, Dense<T>& x,
                      SolveOutcome& outcome) {
  if (!(request.certify || request.certify_refined) || !has_solution(outcome.report)) return;
  const Stopwatch stopwatch;
  progress.announce("proving a bound on the error");
  const MatrixRef<T> A(system.file.matrix);
  const CertifyOptions options = {.cancel = cancel, .device = outcome.report.device};
  outcome.certificate = request.certify_refined
                            ? refine_and_certify<T>(A, system.b.values.view(), x.view(), options)
                            : certify<T>(A, system.b.values.view(), x.view(), options);
  outcome.certify_seconds = stopwatch.seconds();
  progress.clear();
}

/// Adds the component without a ground that b is not balanced on to the message about a singular A.
template <class T>
void name_unbalanced_component(const LinearSystem<T>& system, Report& report) {
  if (report.status != Status::inconsistent && report.status != Status::singular) return;
  const std::string text = imbalance_text(MatrixRef<T>(system.file.matrix), system.b.values.view());
  if (!text.empty()) report.message += (report.message.empty() ? "" : "; ") + text;
}

/// The ordering that a sparse direct method used.
Ordering ordering_of(const Report& report) {
  const Statistic* const ordering = report.find_statistic("ordering");
  const auto* const word = ordering == nullptr ? nullptr : std::get_if<std::string>(&ordering->value);
  return word == nullptr ? Ordering::automatic : from_word<Ordering>(*word).value_or(Ordering::automatic);
}

/// Looks at A for the page, and at the factor of a sparse direct method unless A is large.
template <class T>
void draw_for_page(const MatrixRef<T>& A, SolveOutcome& outcome) {
  outcome.portrait = portrait(A);
  const bool has_factor = outcome.report.find_statistic("factor_entries") != nullptr;
  if (has_factor && A.is_sparse() && A.nonzeros() <= most_predicted_elements)
    outcome.factor = factor_pattern(*A.csr(), ordering_of(outcome.report));
}

/// Solves, and completes the outcome.
template <class T>
void solve_in(const SolveRequest& request, const LinearSystem<T>& system, ProgressLine& progress,
              SolveOutcome& outcome) {
  describe_system(request, system, progress, outcome);
  const Interrupt interrupt(request.quiet);
  Solution<T> solution = solve_system(request, system, progress, interrupt.token());
  outcome.report = std::move(solution.report);
  outcome.hardware = hardware(outcome.report.device);
  if constexpr (!is_complex<T>) {
    name_unbalanced_component(system, outcome.report);
    certify_solution(request, system, interrupt.token(), progress, solution.x, outcome);
  }
  if (system.b.kind == RhsKind::row_sums && outcome.report.solved()) {
    outcome.distance_from_ones = distance_from_ones(solution.x);
  }
  const Stopwatch writing;
  keep_failure(outcome, [&] {
    write_solution(solution.x, outcome);
    if (!request.map.empty() && outcome.report.row_of_unknown != nullptr)
      write_map(request.map, *outcome.report.row_of_unknown);
  });
  outcome.write_seconds = writing.seconds();
  if constexpr (!is_complex<T>) {
    if (!request.page.empty()) draw_for_page(MatrixRef<T>(system.file.matrix), outcome);
  }
}

SolveOutcome solve_request(const SolveRequest& request) {
  check_request(request);
  const Stopwatch total;
  SolveOutcome outcome;
  outcome.matrix = request.matrix;
  outcome.output = request.output;
  ProgressLine progress(request.quiet);
  progress.announce("reading " + input_name(request.matrix));
  const AnySystem system = read_any_system(request);
  outcome.read_seconds = total.seconds();
  const bool complex = std::holds_alternative<LinearSystem<std::complex<double>>>(system);
  if (complex) check_complex_request(request);
  outcome.precision = complex ? "complex double" : request.precision;
  std::visit([&](const auto& of_numbers) { solve_in(request, of_numbers, progress, outcome); }, system);
  outcome.total_seconds = total.seconds();
  return outcome;
}

}  // namespace

ExitCode print_distributed_help() {
  print_result(
      "echelon solve --ranks N solves in N processes: PETSc distributes the matrix and iterates, Echelon\n"
      "factors the subdomains. --method is auto, cg or gmres. Options, for -p KEY=VALUE:\n\n" +
      options_text(distributed_options_table()) +
      "\nECHELON_MPIRUN is the command that starts the processes (default: mpirun); PETSC_OPTIONS adds\n"
      "options of PETSc.\n");
  return exit_solved;
}

ExitCode run_solve(const Arguments& arguments) {
  SolveRequest request;
  CLI::App app("Solves A x = b; reports the method, the residual and the backward error.", "echelon solve");
  set_style(app);
  add_options(app, request);
  app.footer("Example: echelon solve A.mtx --method gmres -p preconditioner=ilu0 --plot history.svg");
  if (!parse(app, arguments)) return exit_solved;
  if (request.steady_state) {
    check_steady_state(request);
    return solve_steady_state({request.matrix, request.input, request.output, request.json, request.quiet});
  }
  take_partition(request);
  SolveOutcome outcome = solve_request(request);
  if (!request.plot.empty()) {
    keep_failure(outcome, [&] { write_text(request.plot, history_plot(outcome)); });
  }
  if (!request.page.empty()) {
    keep_failure(outcome,
                 [&] { write_text(request.page, solve_page(outcome, command_text("solve", arguments))); });
  }
  if (request.json) {
    print_json(solve_json(outcome));
  } else {
    print_report(solve_text(outcome));
  }
  if (outcome.write_failure) return report_failure(outcome.write_failure, false);
  return exit_code(outcome.report.status);
}

}  // namespace echelon::tool

// SPDX-License-Identifier: BSD-3-Clause
/// echelon compare: methods for one system, each in a process of its own, to the same residual.
#include "arguments/command_line.hpp"
#include "arguments/method_options.hpp"
#include "commands/commands.hpp"
#include "commands/measure.hpp"
#include "output/comparison.hpp"
#include "output/files.hpp"
#include "output/pages.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/run_command.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/error.hpp>
#include <echelon/solve.hpp>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon::tool {

namespace {

/// A method to compare, and the reason for it.
struct Competitor {
  MeasuredMethod method;
  std::string reason;
};

struct CompareRequest {
  ComparedSystem system;
  std::vector<std::string> methods;  ///< NAME[/KEY=VALUE]...
  std::vector<std::string> devices;
  double limit_seconds = 30;
  std::size_t limit_bytes = 0;
  std::string run;  ///< the method to measure in this process, as in `methods`; empty in the first process
  std::string page;
  bool json = false;
  bool quiet = false;
};

/// A number and a unit: the factors belong to the units. Throws BadOption.
double parse_quantity(const std::string& option, const std::string& text, const std::string& example,
                      const std::vector<std::pair<std::string, double>>& units) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string unit(stop, end);
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const auto& known) { return known.first == unit; });
  if (error != std::errc() || found == units.end() || !(number > 0) || !std::isfinite(number * found->second))
    throw BadOption(option, fmt::format("{} takes {}, not '{}'", option, example, text));
  return number * found->second;
}

double parse_seconds(const std::string& text) {
  return parse_quantity("--limit", text, "a time such as 30s, 500ms or 5m",
                        {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60}, {"h", 3600}});
}

std::size_t parse_bytes(const std::string& text) {
  constexpr double k = 1024;
  const double bytes = parse_quantity("--memory", text, "a size such as 4G or 500M",
                                      {{"K", k},
                                       {"M", k * k},
                                       {"G", k * k * k},
                                       {"T", k * k * k * k},
                                       {"KiB", k},
                                       {"MiB", k * k},
                                       {"GiB", k * k * k}});
  return static_cast<std::size_t>(std::min(bytes, 1e18));
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string::npos; end = text.find(separator, begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

/// The method in "cg/preconditioner=amg". Throws BadOption.
MeasuredMethod parse_method(const std::string& text, const Device& device) {
  const std::vector<std::string> parts = split(text, '/');
  MeasuredMethod method = {parts.front(), {}, device};
  for (auto part = parts.begin() + 1; part != parts.end(); ++part) add_parameter(method.options, *part);
  find_method(method.name).check_options(device, method.options);
  return method;
}

std::string option_text(const OptionValue& value) {
  return std::visit(
      [](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, bool>)
          return std::string(held ? "true" : "false");
        else
          return fmt::format("{}", held);
      },
      value.get());
}

/// The text that parse_method reads.
std::string method_text(const MeasuredMethod& method) {
  std::string text = method.name;
  for (const auto& [name, value] : method.options.entries())
    text += fmt::format("/{}={}", name, option_text(value));
  return text;
}

void add_options(CLI::App& app, CompareRequest& request) {
  ComparedSystem& system = request.system;
  add_matrix_argument(app, "A", system.matrix);
  app.add_option_function<std::string>(
         "--rhs", [&](const std::string& text) { system.right_hand_side = parse_rhs(text); },
         "b, as of solve; of several columns the first")
      ->type_name("FILE|KIND");
  app.add_option("--methods", request.methods,
                 "methods to compare, with options: cg/preconditioner=amg,sparse-lu; default: those that "
                 "auto would try")
      ->delimiter(',')
      ->type_name("METHOD[/KEY=VALUE]...")
      ->allow_extra_args(false);
  app.add_option("--devices", request.devices,
                 "devices to compare on; default: openmp, and cuda if there is one")
      ->delimiter(',')
      ->type_name("DEVICE")
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--limit", [&](const std::string& text) { request.limit_seconds = parse_seconds(text); },
         "time for each method, reading A included; default 30s")
      ->type_name("TIME");
  app.add_option_function<std::string>(
         "--memory", [&](const std::string& text) { request.limit_bytes = parse_bytes(text); },
         "host memory for each method, such as 4G; default: no limit")
      ->type_name("SIZE");
  app.add_option_function<std::string>(
         "--rtol", [&](const std::string& text) { system.rtol = parse_number("--rtol", text, 1); },
         "relative residual to reach; default 1e-8, in float 1e-5")
      ->type_name("X");
  app.add_option_function<std::string>(
         "--max-iterations",
         [&](const std::string& text) { system.max_iterations = parse_integer("--max-iterations", text); },
         "maximum number of iterations of iterative methods")
      ->type_name("N");
  app.add_option("--precision", system.precision, "double by default")->type_name("double|float");
  add_page_option(app, request.page);
  app.add_option("--run", request.run, "measure this method in this process")->group("");
  app.add_flag("--json", request.json, "print the result as one line of JSON");
  app.add_flag("--quiet", request.quiet, "print no progress");
  add_input_options(app, system.input);
}

std::vector<Device> devices_of(const CompareRequest& request) {
  std::vector<Device> devices;
  for (const std::string& name : request.devices) devices.push_back(Device::parse(name));
  if (!devices.empty()) return devices;
  devices.emplace_back();
  if (cuda_device_count() > 0) devices.push_back(Device::cuda());
  return devices;
}

/// Private memory of this process, most of which BLAS reserves when the program starts.
std::size_t private_bytes() {
  std::ifstream file("/proc/self/statm");
  std::array<std::size_t, 6> pages = {};  // size, resident, shared, text, lib, data
  for (std::size_t& number : pages) file >> number;
  return pages[5] * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Throws BadOption for a limit of memory that the program exceeds before it reads A.
void check_memory(std::size_t limit_bytes) {
  const std::size_t least = private_bytes();
  if (limit_bytes == 0 || limit_bytes > least) return;
  throw BadOption("--memory", fmt::format("--memory {} is too little: each process takes {} when it starts",
                                          byte_count(limit_bytes), byte_count(least)));
}

/// Lets allocations of this process fail that exceed a limit. It is set after the start of the program, where
/// the loader and BLAS would wait for memory, or end the process without a word.
void limit_memory(std::size_t bytes) {
  const rlimit memory = {bytes, bytes};
  if (bytes > 0) ::setrlimit(RLIMIT_DATA, &memory);
}

/// Finds errors before A, which may be large, is read.
void check_request(const CompareRequest& request) {
  const ComparedSystem& system = request.system;
  static_cast<void>(scalar_of(system.precision));
  if (system.matrix == "-" || system.right_hand_side.file == "-")
    throw BadOption("A", "each method reads A and b in a process of its own: they have to be files");
  for (const Device& device : devices_of(request)) require(device);
  for (const std::string& text : request.methods) {
    const Method& method = find_method(split(text, '/').front());
    for (const Device& device : devices_of(request)) {
      if (method.runs_on(device)) static_cast<void>(parse_method(text, device));
    }
  }
  check_memory(request.limit_bytes);
  check_page_name({"--report", request.page});
  std::vector<std::string> inputs = {system.matrix};
  if (!system.right_hand_side.file.empty()) inputs.push_back(system.right_hand_side.file);
  check_files(inputs, {{"--report", request.page}});
}

/// The named methods on the devices that they run on; without names, auto's candidates for A.
template <class T>
std::vector<Competitor> competitors(const CompareRequest& request, const MatrixRef<T>& A) {
  std::vector<Competitor> result;
  for (const Device& device : devices_of(request)) {
    for (const std::string& text : request.methods) {
      if (find_method(split(text, '/').front()).runs_on(device))
        result.push_back({parse_method(text, device), "asked for"});
    }
    if (!request.methods.empty()) continue;
    for (Candidate& candidate : choose(A, std::optional(device)))
      result.push_back(
          {{candidate.method, std::move(candidate.parameters), candidate.device}, candidate.reason});
  }
  return result;
}

template <class Value>
void read_figure(const Json& figures, const char* name, std::optional<Value>& value) {
  if (figures.contains(name) && !figures[name].is_null()) value = figures[name].get<Value>();
}

/// The last line of what a process wrote to standard error, without "echelon: error: ".
std::string last_error(const std::string& errors) {
  std::vector<std::string> lines = split(errors, '\n');
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.empty()) return {};
  constexpr std::string_view prefix = "echelon: error: ";
  return lines.back().starts_with(prefix) ? lines.back().substr(prefix.size()) : lines.back();
}

/// Says in the result how the process ended before it was done.
void add_end(const Ended& ended, const CompareRequest& request, bool cancelled, MethodResult& result) {
  constexpr int by_signal = 128;
  result.peak_bytes = ended.peak_bytes;
  if (ended.status == 0) return;
  result.status = ended.out_of_time || cancelled ? "stopped" : "failed";
  if (cancelled) {
    result.message = "interrupted";
  } else if (ended.out_of_time) {
    result.message = fmt::format("not done after {}", duration(request.limit_seconds));
  } else if (ended.status > by_signal) {
    result.message =
        fmt::format("its process was ended by signal {}{}", ended.status - by_signal,
                    ended.status == by_signal + 9 ? ", as the system does when memory runs out" : "");
  } else {
    result.message = last_error(ended.errors);
  }
}

/// Measures a method in a process of its own, which gets the arguments of this one.
MethodResult run_competitor(const CompareRequest& request, const Arguments& arguments,
                            const Competitor& competitor, const CancellationToken& cancel) {
  std::vector<std::string> command = {"/proc/self/exe", "compare"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.insert(command.end(),
                 {"--run", competitor.method.device.name() + "/" + method_text(competitor.method)});
  Json figures = Json::object();
  const Ended ended =
      run_command(command, [&](const std::string& line) { figures = Json::parse(line, nullptr, false); },
                  {.cancel = cancel, .environment = {}, .seconds = request.limit_seconds});
  if (!figures.is_object()) figures = Json::object();
  MethodResult result;
  result.method = figures.value("method", method_text(competitor.method));
  result.device = competitor.method.device.name();
  result.reason = competitor.reason;
  result.status = figures.value("status", "failed");
  result.message = figures.value("message", "");
  read_figure(figures, "setup_seconds", result.setup_seconds);
  read_figure(figures, "update_seconds", result.update_seconds);
  read_figure(figures, "solve_seconds", result.solve_seconds);
  read_figure(figures, "solve_10_seconds", result.solve_10_seconds);
  read_figure(figures, "iterations", result.iterations);
  read_figure(figures, "relative_residual", result.relative_residual);
  read_figure(figures, "backward_error", result.backward_error);
  read_figure(figures, "expected_digits", result.expected_digits);
  read_figure(figures, "bytes", result.bytes);
  add_end(ended, request, cancel.stop_requested(), result);
  const bool solved = figures.value("solved", false);
  result.reached =
      solved && result.relative_residual && *result.relative_residual <= request.system.tolerance();
  if (solved && !result.reached && result.message.empty())
    result.message =
        fmt::format("its x has a residual of {}", short_number(result.relative_residual.value_or(1)));
  return result;
}

/// Findings of the first process about the system.
struct SystemFacts {
  std::vector<Competitor> competitors;
  std::string right_hand_side;
  std::optional<MatrixPortrait> portrait;
};

template <class T>
SystemFacts look_at_system(const CompareRequest& request, ProgressLine& progress) {
  progress.announce("reading " + input_name(request.system.matrix));
  MatrixFile<T> file = read_input<T>(request.system.matrix, request.system.input);
  const Rhs<T> rhs = make_rhs<T>(request.system.right_hand_side, request.system.matrix, file);
  const MatrixRef<T> A(file.matrix);
  SystemFacts facts;
  facts.right_hand_side =
      rhs.kind == RhsKind::file ? input_name(rhs.file) : describe_rhs(rhs.kind, rhs.seed, rhs.is_default);
  progress.announce("choosing methods");
  facts.competitors = competitors<T>(request, A);
  if (!request.page.empty()) facts.portrait = portrait(A);
  return facts;
}

ExitCode compare(const CompareRequest& request, const Arguments& arguments) {
  ProgressLine progress(request.quiet);
  const SystemFacts facts =
      in_precision(request.system.precision, [&]<class T>() { return look_at_system<T>(request, progress); });
  if (facts.competitors.empty())
    throw BadOption("--methods", "none of these methods runs on these devices: see 'echelon methods'");
  Comparison comparison = {.matrix = file_title(request.system.matrix),
                           .right_hand_side = facts.right_hand_side,
                           .tolerance = request.system.tolerance(),
                           .limit_seconds = request.limit_seconds,
                           .limit_bytes = request.limit_bytes,
                           .results = {}};
  const Interrupt interrupt(request.quiet);
  for (const Competitor& competitor : facts.competitors) {
    if (interrupt.token().stop_requested()) break;
    progress.announce(fmt::format("{} on {} ({} of {})", competitor.method.name,
                                  competitor.method.device.name(), comparison.results.size() + 1,
                                  facts.competitors.size()));
    comparison.results.push_back(run_competitor(request, arguments, competitor, interrupt.token()));
  }
  progress.clear();
  if (!request.page.empty())
    write_text(request.page, to_html(comparison, facts.portrait, command_text("compare", arguments)));
  if (request.json) {
    print_report(to_json(comparison) + "\n");
  } else {
    print_report(comparison_text(comparison));
  }
  return comparison.best(1) != nullptr ? exit_solved : exit_not_converged;
}

}  // namespace

ExitCode run_compare(const Arguments& arguments) {
  CompareRequest request;
  CLI::App app("Compares methods for A x = b: time, memory and accuracy at the same residual.",
               "echelon compare");
  set_style(app);
  add_options(app, request);
  app.footer("Example: echelon compare A.mtx --limit 1m --report page.html");
  if (!parse(app, arguments)) return exit_solved;
  if (!request.run.empty()) {
    check_memory(request.limit_bytes);
    limit_memory(request.limit_bytes);
    const std::size_t slash = request.run.find('/');
    return measure(request.system,
                   parse_method(request.run.substr(slash + 1), Device::parse(request.run.substr(0, slash))));
  }
  check_request(request);
  return compare(request, arguments);
}

}  // namespace echelon::tool

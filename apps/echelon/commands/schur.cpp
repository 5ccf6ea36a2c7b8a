// SPDX-License-Identifier: BSD-3-Clause
/// echelon schur: the Schur complement of a matrix on some of its unknowns.
#include "arguments/command_line.hpp"
#include "arguments/input.hpp"
#include "commands/commands.hpp"
#include "commands/elimination.hpp"
#include "output/files.hpp"
#include "output/json.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/domain_decomposition/schur_complement.hpp>
#include <echelon/error.hpp>
#include <echelon/solver.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::tool {

namespace {

struct SchurRequest {
  std::string matrix;
  InputOptions input;
  std::string interface;
  std::string rhs;
  std::string output;
  std::string reduced;
  std::string precision = "double";
  Device device;
  SchurOptions options;
  bool json = false;
  bool quiet = false;
};

/// The words of an enumeration of options.
template <class E>
std::vector<std::string> words() {
  std::vector<std::string> result;
  for (const auto& [value, word] : words_of(E{})) result.emplace_back(word);
  return result;
}

/// Adds an option whose value is a word of an enumeration.
template <class E>
void add_word_option(CLI::App& app, const std::string& name, E& value, const std::string& help) {
  app.add_option_function<std::string>(
         name,
         [name, &value](const std::string& word) {
           value = words_of(E{})[parse_word(name, word, words<E>())].value;
         },
         help)
      ->type_name(fmt::format("{}", fmt::join(words<E>(), "|")));
}

/// Reads a dense matrix from a file of any format; what is not recognised by its name is text.
template <class T>
Dense<T> read_columns(const std::string& path) {
  const bool is_text = path.find(".mtx") == std::string::npos && path.find(".np") == std::string::npos;
  Matrix<T> file = read_matrix<T>(input_path(path), is_text ? FileFormat::text : FileFormat::automatic);
  if (auto* dense = std::get_if<Dense<T>>(&file)) return std::move(*dense);
  return to_dense(MatrixRef<T>(file));
}

/// Reads the rows of the interface, one on each line.
std::vector<std::int32_t> read_interface(const std::string& path) {
  const Dense<double> list = read_columns<double>(path);
  if (list.columns() > 1) {
    throw BadOption("--interface",
                    fmt::format("{} has {} columns; a row of A, counted from 0, on each line is needed",
                                input_name(path), list.columns()));
  }
  std::vector<std::int32_t> rows;
  for (std::int64_t line = 0; line < list.rows(); ++line) {
    const double row = list(line, 0);
    if (!(row >= 0 && row <= std::numeric_limits<std::int32_t>::max()) || row != std::floor(row)) {
      throw BadOption("--interface",
                      fmt::format("element {} (from 0) of {} is {}, which is not the number of a row, "
                                  "counted from 0",
                                  line, input_name(path), row));
    }
    rows.push_back(static_cast<std::int32_t>(row));
  }
  return rows;
}

/// Estimate of 1 / condition number of S, which small matrices have at little cost.
template <class T>
std::optional<double> reciprocal_condition_of(const SchurComplement<T>& schur) {
  constexpr std::int64_t small = 2000;
  if (!schur.ready() || schur.matrix().rows() == 0 || schur.matrix().rows() > small) return std::nullopt;
  return make_solver<T>("lu", schur.device()).setup(schur.matrix()).reciprocal_condition;
}

template <class T>
Json schur_json(const SchurRequest& request, const FileInfo& info, const SchurComplement<T>& schur) {
  const Report& report = schur.report();
  Json json = elimination_json(request.matrix, request.precision, info, report);
  json["reason"] = report.reason;
  json["interface"] = schur.interface().size();
  json["interior"] = schur.interior().size();
  json["rank"] = or_null(report.rank);
  json["complement_reciprocal_condition"] = or_null(reciprocal_condition_of(schur));
  json["statistics"] = report_part(report, "statistics");
  const std::optional<Inertia> inertia = report.ready() ? schur.interior_inertia() : std::nullopt;
  json["inertia"] =
      inertia
          ? Json{{"positive", inertia->positive}, {"negative", inertia->negative}, {"zero", inertia->zero}}
          : Json(nullptr);
  const bool written = report.ready() && !request.output.empty();
  json["output"] = written ? Json(request.output) : Json(nullptr);
  return json;
}

template <class T>
std::string schur_text(const SchurRequest& request, const FileInfo& info, const SchurComplement<T>& schur) {
  const Report& report = schur.report();
  std::vector<Row> rows;
  if (!report.message.empty()) rows.emplace_back("because", report.message);
  rows.emplace_back("matrix", fmt::format("{}: {} x {}", input_name(request.matrix), grouped(info.rows),
                                          grouped(info.columns)));
  rows.emplace_back("unknowns", fmt::format("{} in the interior, {} in the interface",
                                            grouped(static_cast<std::int64_t>(schur.interior().size())),
                                            grouped(static_cast<std::int64_t>(schur.interface().size()))));
  rows.emplace_back("device", fmt::format("{} ({}), in {}", report.device.name(), hardware(report.device),
                                          request.precision));
  for (const Statistic& statistic : report.statistics) {
    const std::string text = to_string(statistic);
    if (statistic.name != "interior" && statistic.name != "interface")
      rows.emplace_back(statistic.name, text.substr(std::min(text.size(), statistic.name.size() + 1)));
  }
  if (report.ready()) {
    if (const std::optional<Inertia> inertia = schur.interior_inertia()) {
      rows.emplace_back("inertia of the interior",
                        fmt::format("{} positive, {} negative eigenvalues", grouped(inertia->positive),
                                    grouped(inertia->negative)));
    }
  }
  const auto add_condition = [&](const std::string& name, const std::optional<double>& reciprocal) {
    if (reciprocal) rows.emplace_back(name, *reciprocal > 0 ? short_number(1 / *reciprocal) : "infinite");
  };
  add_condition("condition of the interior", report.reciprocal_condition);
  add_condition("condition of the complement", reciprocal_condition_of(schur));
  rows.emplace_back("memory", byte_count(report.bytes));
  rows.emplace_back("time", duration(report.setup_seconds));
  for (const std::string& warning : report.warnings) rows.emplace_back("warning", warning);
  if (!request.output.empty()) {
    const std::string name = output_name(request.output);
    rows.emplace_back("output", report.ready() ? name : name + " not written");
  }
  return fmt::format("{} {}\n",
                     paint(report.ready() ? "Schur complement:" : "No Schur complement:",
                           report.ready() ? Colour::green : Colour::red, report_stream()),
                     report.ready() ? fmt::format("{0} x {0}, by {1}", schur.matrix().rows(),
                                                  to_string(report.statistics.front()).substr(14))
                                    : std::string(to_string(report.status))) +
         aligned(rows);
}

/// Writes the right-hand sides of the interface's equations.
template <class T>
void write_reduced(const SchurRequest& request, const SchurComplement<T>& schur, const Dense<T>& b) {
  const Dense<T> on_device = b.to(schur.device());
  Dense<T> g(schur.device(), schur.matrix().rows(), b.columns());
  schur.reduce(on_device, g);
  write_dense<T>(request.reduced, on_host(std::move(g)),
                 "reduced right-hand sides of " + input_name(request.matrix));
}

template <class T>
ExitCode eliminate_interior(SchurRequest& request, MatrixFile<T>&& file, ProgressLine& progress) {
  const std::vector<std::int32_t> interface = read_interface(request.interface);
  Dense<T> b;
  if (!request.rhs.empty()) {
    b = read_columns<T>(request.rhs);
    if (b.rows() != file.info.rows) {
      throw DimensionMismatch(fmt::format("{} has {} rows, and {} has {}", input_name(request.rhs), b.rows(),
                                          input_name(request.matrix), file.info.rows));
    }
  }
  const Interrupt interrupt(request.quiet);
  request.options.cancel = interrupt.token();
  request.options.device = request.device;
  progress.announce("eliminating the interior");
  const Matrix<T> A =
      request.device.on_host()
          ? std::move(file.matrix)
          : std::visit([&](const auto& held) { return Matrix<T>(held.to(request.device)); }, file.matrix);
  const SchurComplement<T> schur(MatrixRef<T>(A), interface, request.options);
  if (schur.ready() && !request.output.empty()) {
    write_dense<T>(request.output, schur.matrix().to(Device()),
                   "Schur complement of " + input_name(request.matrix));
  }
  if (schur.ready() && !request.reduced.empty()) write_reduced(request, schur, b);
  progress.clear();
  if (request.json) {
    print_json(schur_json(request, file.info, schur));
  } else {
    print_report(schur_text(request, file.info, schur));
  }
  return exit_code(schur.report().status);
}

ExitCode run(SchurRequest& request) {
  ProgressLine progress(request.quiet);
  progress.announce("reading " + input_name(request.matrix));
  return with_input(request, [&]<class T>(MatrixFile<T>&& file) {
    return eliminate_interior(request, std::move(file), progress);
  });
}

}  // namespace

ExitCode run_schur(const Arguments& arguments) {
  SchurRequest request;
  CLI::App app("Eliminates all unknowns but those of an interface: S = A_BB - A_BI A_II^-1 A_IB.",
               "echelon schur");
  set_style(app);
  add_matrix_argument(app, "A", request.matrix);
  add_file_option(
      app, "--interface", request.interface,
      "file with the unknowns that are kept: a row of A, counted from 0, on each line, or .mtx, .npy; "
      "S has their order")
      ->required();
  add_file_option(app, "-o,--output", request.output, "write S, dense: .mtx, .npy, .npz, .petsc, .txt, .csv");
  add_file_option(app, "--rhs", request.rhs, "right-hand sides b, for --reduced");
  add_file_option(app, "--reduced", request.reduced, "write b_B - A_BI A_II^-1 b_I");
  add_word_option(app, "--factorization", request.options.factorization, "factors of the interior");
  add_word_option(app, "--ordering", request.options.ordering,
                  "order in which a sparse interior is eliminated");
  app.add_option_function<std::string>(
         "--device",
         [&](const std::string& name) {
           if (name != "auto") request.device = Device::parse(name);
         },
         "auto (default, all cores), serial, openmp[:THREADS], cuda[:GPU] or opencl[:DEVICE]")
      ->type_name("DEVICE");
  app.add_option("--precision", request.precision, "double by default")->type_name("double|float");
  app.add_flag("--json", request.json, "print the report as one line of JSON");
  app.add_flag("--quiet", request.quiet, "print no progress");
  add_input_options(app, request.input);
  if (!parse(app, arguments)) return exit_solved;
  if (request.rhs.empty() != request.reduced.empty())
    throw BadOption("--reduced", "--rhs and --reduced are given together");
  require(request.device);
  std::vector<std::string> inputs = {request.matrix, request.interface};
  if (!request.rhs.empty()) inputs.push_back(request.rhs);
  const std::vector<OutputOption> outputs = {{"--output", request.output}, {"--reduced", request.reduced}};
  for (const OutputOption& output : outputs) check_dense_format(output);
  check_files(inputs, outputs);
  return run(request);
}

}  // namespace echelon::tool

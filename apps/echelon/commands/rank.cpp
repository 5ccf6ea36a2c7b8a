// SPDX-License-Identifier: BSD-3-Clause
#include "commands/commands.hpp"
#include "commands/elimination.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"

#include <echelon/error.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/any_solver.hpp>

namespace echelon::tool {

namespace {

constexpr const char* dense_method = "gauss-jordan";
constexpr const char* sparse_method = "mapped-echelon";

struct RankRequest : EliminationRequest {
  std::string method;
  Options parameters;  ///< options of the sparse method
};

/// Formats the statistics of a report.
std::string list_statistics(const Report& report) {
  std::string text;
  for (const Statistic& statistic : report.statistics) {
    text += (text.empty() ? "" : ", ") + to_string(statistic);
  }
  return text;
}

bool has_rank(const Report& report) {
  return report.rank && report.status != Status::not_a_number;
}

/// Computes the rank by elimination of the sparse matrix, without a dense copy.
template <class T>
ExitCode sparse_rank_in(const RankRequest& request) {
  ProgressLine progress(request.quiet);
  progress.announce("reading " + input_name(request.matrix));
  const MatrixFile<T> file = read_input<T>(request.matrix, request.input);
  const Matrix<T> A =
      std::visit([&](const auto& held) { return Matrix<T>(held.to(request.device)); }, file.matrix);
  progress.announce("eliminating");
  const Interrupt interrupt(request.quiet);
  Solver<T> solver = make_solver<T>(request.method, request.device, request.parameters);
  Report report = solver.setup(MatrixRef<T>(A), {.cancel = interrupt.token()});
  progress.clear();
  const bool doubtful = report.find_statistic("doubtful") != nullptr;
  const bool proven = report.find_statistic("proven") != nullptr;
  if (has_rank(report)) report.status = Status::direct;  // a rank that is not full is a result
  if (request.json) {
    Json json = elimination_json(request.matrix, request.precision, file.info, report);
    json.update(Json{{"rank", or_null(report.rank)},
                     {"doubtful", doubtful},
                     {"statistics", report_part(report, "statistics")}});
    if (has_rank(report)) json["certainty"] = certainty(proven);
    print_json(json);
    return exit_code(report.status);
  }
  std::vector<Row> rows = elimination_rows(request, file.info, report);
  rows.emplace_back("method", solver.describe());
  if (!report.statistics.empty()) rows.emplace_back("statistics", list_statistics(report));
  std::string headline =
      paint("No rank:", Colour::red, report_stream()) + " " + std::string(to_string(report.status)) + "\n";
  if (has_rank(report)) {
    RankFacts facts;
    facts.rank = *report.rank;
    facts.doubtful = doubtful;
    headline = rank_line(facts, file.info);
    rows.emplace_back("certainty", certainty(proven));
  }
  print_report(headline + aligned(rows));
  return exit_code(report.status);
}

/// Chooses the method by the options, and finds errors in them before the file is read.
void select_method(RankRequest& request) {
  if (request.method.empty()) request.method = request.parameters.empty() ? dense_method : sparse_method;
  if (request.method == dense_method) {
    if (!request.parameters.empty()) {
      throw BadOption("parameter", "-p sets an option of mapped-echelon; gauss-jordan takes --tolerance");
    }
    check_request(request, {});
    return;
  }
  if (request.method != sparse_method) {
    throw BadOption("--method", "rank takes gauss-jordan or mapped-echelon, not '" + request.method + "'");
  }
  if (request.options.tolerance) request.parameters.set("tolerance", *request.options.tolerance);
  static_cast<void>(
      AnySolver(request.method, request.device, scalar_of(request.precision), request.parameters));
  check_files({request.matrix}, {});
}

template <class T>
ExitCode dense_rank_in(const EliminationRequest& request) {
  ProgressLine progress(request.quiet);
  progress.announce("reading " + input_name(request.matrix));
  DenseFile<T> file = read_dense<T>(request);
  progress.announce("eliminating");
  const EchelonForm<T> form = RowReduction<T>(request.device, request.options).reduce(std::move(file.matrix));
  progress.clear();
  if (request.json) {
    Json json = elimination_json(request.matrix, request.precision, file.info, form.report);
    json.update(form.report.solved() ? rank_json(form.facts) : Json{{"rank", nullptr}});
    print_json(json);
    return exit_code(form.report.status);
  }
  std::vector<Row> rows = elimination_rows(request, file.info, form.report);
  std::string headline = paint("No rank:", Colour::red, report_stream()) + " A has a NaN or infinity\n";
  if (form.report.solved()) {
    headline = rank_line(form.facts, file.info);
    for (Row& row : rank_rows(form.facts)) rows.push_back(std::move(row));
  }
  print_report(headline + aligned(rows));
  return exit_code(form.report.status);
}

}  // namespace

ExitCode run_rank(const Arguments& arguments) {
  RankRequest request;
  CLI::App app("Computes the rank by elimination, and how certain it is.", "echelon rank");
  set_style(app);
  add_elimination_options(app, request);
  app.add_option("--method", request.method,
                 "dense elimination by default, sparse elimination, mapped-echelon, with -p")
      ->type_name("gauss-jordan|mapped-echelon");
  app.add_option_function<std::vector<std::string>>(
         "-p,--parameter",
         [&](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_parameter(request.parameters, text);
         },
         "an option of mapped-echelon: field=mod:P computes the rank modulo a prime; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.footer("Example: echelon rank A.mtx -p field=mod:2147483647");
  if (!parse(app, arguments)) return exit_solved;
  select_method(request);
  return in_precision(request.precision, [&]<class T>() {
    return request.method == dense_method ? dense_rank_in<T>(request) : sparse_rank_in<T>(request);
  });
}

}  // namespace echelon::tool

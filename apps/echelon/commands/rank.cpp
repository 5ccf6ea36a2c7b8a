// SPDX-License-Identifier: BSD-3-Clause
#include "commands/commands.hpp"
#include "commands/elimination.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"

#include <echelon/error.hpp>
#include <echelon/page/report_page.hpp>
#include <echelon/solver.hpp>
#include <echelon/solver/any_solver.hpp>

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace echelon::tool {

namespace {

constexpr const char* dense_method = "gauss-jordan";
constexpr const char* sparse_method = "mapped-echelon";

struct RankRequest : EliminationRequest {
  std::string method;
  std::string map;
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

/// Facts about a rank, or why there is none, as a page shows them.
struct RankResult {
  bool found = false;
  RankFacts facts;
  std::string why_none;
  std::vector<Row> rows;
  Json json;
};

/// Writes the page that --report asks for.
void write_page(const RankRequest& request, const FileInfo& file, const std::optional<MatrixPortrait>& matrix,
                const RankResult& result) {
  if (!matrix) return;
  Page page(file_title(request.matrix), "the rank of a matrix, computed by Echelon");
  if (result.found) {
    page.outcome({.label = rank_text(result.facts, file),
                  .value = "by elimination",
                  .explanation = result.facts.doubtful ? "Another tolerance could give another rank." : "",
                  .severity = result.facts.doubtful ? Severity::warning : Severity::good});
  } else {
    page.outcome({.label = "No rank", .value = result.why_none, .severity = Severity::failure});
  }
  page.facts(page_rows(result.rows));
  add_matrix(page, *matrix);
  add_repetition(page, request.command, result.json);
  write_text(request.page, page.html());
}

/// The portrait of A if there is a page to write.
template <class T>
std::optional<MatrixPortrait> portrait_for_page(const RankRequest& request, const MatrixRef<T>& A) {
  if (request.page.empty()) return std::nullopt;
  if constexpr (is_complex<T>) {
    throw BadOption("--report",
                    fmt::format("pages show real matrices, and {} is complex", input_name(request.matrix)));
  } else {
    return portrait(A);
  }
}

/// Writes the page, and prints the result.
ExitCode finish(const RankRequest& request, const FileInfo& file, const std::optional<MatrixPortrait>& matrix,
                const RankResult& result, Status status) {
  write_page(request, file, matrix, result);
  if (request.json) {
    print_json(result.json);
  } else {
    const std::string headline =
        result.found ? rank_line(result.facts, file)
                     : paint("No rank:", Colour::red, report_stream()) + " " + result.why_none + "\n";
    print_report(headline + aligned(result.rows));
  }
  return exit_code(status);
}

bool has_rank(const Report& report) {
  return report.rank && report.status != Status::not_a_number;
}

/// Computes the rank by elimination of the sparse matrix, without a dense copy.
template <class T>
ExitCode sparse_rank(const RankRequest& request, const MatrixFile<T>& file, ProgressLine& progress) {
  const Matrix<T> A =
      std::visit([&](const auto& held) { return Matrix<T>(held.to(request.device)); }, file.matrix);
  progress.announce("eliminating");
  const Interrupt interrupt(request.quiet);
  Solver<T> solver = make_solver<T>(request.method, request.device, request.parameters);
  Report report = solver.setup(MatrixRef<T>(A), {.cancel = interrupt.token()});
  progress.clear();
  if (!request.map.empty() && report.row_of_unknown != nullptr)
    write_map(request.map, *report.row_of_unknown);
  const std::optional<MatrixPortrait> matrix = portrait_for_page(request, MatrixRef<T>(file.matrix));
  const bool doubtful = report.find_statistic("doubtful") != nullptr;
  const bool proven = report.find_statistic("proven") != nullptr;
  if (has_rank(report)) report.status = Status::direct;  // a rank that is not full is a result
  RankResult result{.found = has_rank(report),
                    .facts = {},
                    .why_none = std::string(to_string(report.status)),
                    .rows = elimination_rows(request, file.info, report),
                    .json = elimination_json(request.matrix, request.precision, file.info, report)};
  result.json.update(Json{{"rank", or_null(report.rank)},
                          {"doubtful", doubtful},
                          {"statistics", report_part(report, "statistics")}});
  result.rows.emplace_back("method", solver.describe());
  if (!report.statistics.empty()) result.rows.emplace_back("statistics", list_statistics(report));
  if (result.found) {
    result.facts.rank = *report.rank;
    result.facts.doubtful = doubtful;
    result.json["certainty"] = certainty(proven);
    result.rows.emplace_back("certainty", certainty(proven));
  }
  return finish(request, file.info, matrix, result, report.status);
}

/// Chooses the method by the options, and finds errors in them before the file is read.
void select_method(RankRequest& request) {
  check_page_name({"--report", request.page});
  if (request.method.empty()) {
    const bool sparse = !request.parameters.empty() || !request.map.empty();
    request.method = sparse ? sparse_method : dense_method;
  }
  if (request.method == dense_method) {
    if (!request.map.empty())
      throw BadOption("--map", "mapped-echelon has a map of the unknowns, not gauss-jordan");
    if (!request.parameters.empty()) {
      throw BadOption("parameter", "-p sets an option of mapped-echelon; gauss-jordan takes --tolerance");
    }
    check_request(request, {}, {{"--report", request.page}});
    return;
  }
  if (request.method != sparse_method) {
    throw BadOption("--method", "rank takes gauss-jordan or mapped-echelon, not '" + request.method + "'");
  }
  if (request.options.tolerance) request.parameters.set("tolerance", *request.options.tolerance);
  static_cast<void>(
      AnySolver(request.method, request.device, scalar_of(request.precision), request.parameters));
  check_dense_format({"--map", request.map});
  check_files({request.matrix}, {{"--report", request.page}, {"--map", request.map}});
}

template <class T>
ExitCode dense_rank(const RankRequest& request, DenseFile<T>&& file, ProgressLine& progress) {
  const std::optional<MatrixPortrait> matrix = portrait_for_page(request, MatrixRef<T>(file.matrix));
  progress.announce("eliminating");
  const EchelonForm<T> form = RowReduction<T>(request.device, request.options).reduce(std::move(file.matrix));
  progress.clear();
  RankResult result{.found = form.report.solved(),
                    .facts = form.facts,
                    .why_none = "A has a NaN or infinity",
                    .rows = elimination_rows(request, file.info, form.report),
                    .json = elimination_json(request.matrix, request.precision, file.info, form.report)};
  result.json.update(result.found ? rank_json(form.facts) : Json{{"rank", nullptr}});
  if (result.found) {
    for (Row& row : rank_rows(form.facts)) result.rows.push_back(std::move(row));
  }
  return finish(request, file.info, matrix, result, form.report.status);
}

ExitCode find_rank(RankRequest& request) {
  ProgressLine progress(request.quiet);
  progress.announce("reading " + input_name(request.matrix));
  return with_input(request, [&]<class T>(MatrixFile<T>&& file) {
    if (request.method == dense_method)
      return dense_rank(request, as_dense(request, std::move(file)), progress);
    if constexpr (is_complex<T>) {
      throw BadOption(
          "--method",
          fmt::format("mapped-echelon, and ranks modulo a prime, are for real matrices, and {} is "
                      "complex: leave --method, --map and -p out",
                      input_name(request.matrix)));
    } else {
      return sparse_rank(request, file, progress);
    }
  });
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
  add_parameter_option(
      app, request.parameters,
      "an option of mapped-echelon: field=mod:P computes the rank modulo a prime; may be repeated");
  add_file_option(app, "--map", request.map,
                  "write the row that eliminates each unknown, from 0, and -1 for a free unknown, by "
                  "mapped-echelon: .mtx, .npy, .npz, .petsc, .txt, .csv");
  app.footer("Example: echelon rank A.mtx -p field=mod:2147483647");
  add_page_option(app, request.page);
  if (!parse(app, arguments)) return exit_solved;
  request.command = command_text("rank", arguments);
  select_method(request);
  return find_rank(request);
}

}  // namespace echelon::tool

// SPDX-License-Identifier: BSD-3-Clause
#include "commands/commands.hpp"
#include "commands/elimination.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"

namespace echelon::tool {

namespace {

template <class T>
ExitCode rank_in(const EliminationRequest& request) {
  ProgressLine progress(request.quiet);
  progress.announce("reading " + input_name(request.matrix));
  DenseFile<T> file = read_dense<T>(request);
  progress.announce("eliminating");
  const EchelonForm<T> form = RowReduction<T>(request.device, request.options).reduce(std::move(file.matrix));
  progress.clear();
  if (request.json) {
    Json json = elimination_json(request, file.info, form.report);
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
  EliminationRequest request;
  CLI::App app("Computes the rank by elimination, and how certain it is.", "echelon rank");
  set_style(app);
  add_elimination_options(app, request);
  if (!parse(app, arguments)) return exit_solved;
  check_request(request, {});
  return in_precision(request.precision, [&]<class T>() { return rank_in<T>(request); });
}

}  // namespace echelon::tool

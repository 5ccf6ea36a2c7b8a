// SPDX-License-Identifier: BSD-3-Clause
#include "commands/commands.hpp"
#include "commands/elimination.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"

#include <echelon/enum_words.hpp>
#include <echelon/error.hpp>
#include <echelon/solver/report_rows.hpp>

#include <fmt/format.h>

namespace echelon::tool {

namespace {

/// True if an inverse was computed, even if A is singular to working precision.
bool inverted(const Report& report) {
  return report.solved() || (report.status == Status::singular && !report.column);
}

Json invert_json(const EliminationRequest& request, const FileInfo& info, const Report& report) {
  Json json = elimination_json(request.matrix, request.precision, info, report);
  const bool written = inverted(report) && !request.output.empty();
  json["relative_residual"] = inverted(report) ? Json(report.relative_residual) : Json(nullptr);
  json["backward_error"] = inverted(report) ? Json(report.backward_error) : Json(nullptr);
  json["factor_precision"] = report_part(report, "factor_precision");
  json["output"] = written ? Json(request.output) : Json(nullptr);
  return json;
}

std::string invert_text(const EliminationRequest& request, const FileInfo& info, const Report& report) {
  std::vector<Row> rows = elimination_rows(request, info, report);
  for (const ReportRow& row : report_rows(report)) {
    if (row.label == "factor precision") rows.emplace_back(row.label, row.value);
  }
  if (inverted(report)) {
    rows.emplace_back("relative residual", fmt::format("{:.2e}, of A^-1 (A v) and (v A) A^-1 for a random v",
                                                       report.relative_residual));
    rows.emplace_back("backward error", fmt::format("{:.2e}", report.backward_error));
  }
  if (report.reciprocal_condition) {
    rows.emplace_back("condition", fmt::format("{:.1e}", 1 / *report.reciprocal_condition));
  }
  if (!request.output.empty()) {
    const std::string name = output_name(request.output);
    rows.emplace_back("inverse", inverted(report) ? name : name + " not written");
  }
  const bool good = report.solved();
  return fmt::format(
             "{} {}\n",
             paint(good ? "Inverted:" : "Not inverted:", good ? Colour::green : Colour::red, report_stream()),
             good ? "by " + report.method : std::string(to_string(report.status))) +
         aligned(rows);
}

template <class T>
ExitCode invert_and_report(const EliminationRequest& request, DenseFile<T>&& file, ProgressLine& progress) {
  if (file.info.rows != file.info.columns) {
    throw DimensionMismatch(fmt::format("{} is {} by {}: only a square matrix has an inverse",
                                        input_name(request.matrix), file.info.rows, file.info.columns));
  }
  progress.announce("inverting");
  const Report report = RowReduction<T>(request.device, request.options).invert(file.matrix);
  if (!request.output.empty() && inverted(report)) {
    write_dense<T>(request.output, on_host(std::move(file.matrix)),
                   "inverse of " + input_name(request.matrix));
  }
  progress.clear();
  if (request.json) {
    print_json(invert_json(request, file.info, report));
  } else {
    print_report(invert_text(request, file.info, report));
  }
  return exit_code(report.status);
}

}  // namespace

ExitCode run_invert(const Arguments& arguments) {
  EliminationRequest request;
  CLI::App app("Inverts a square matrix and measures the accuracy.", "echelon invert");
  set_style(app);
  add_elimination_options(app, request);
  add_file_option(app, "-o,--output", request.output,
                  "write the inverse: .mtx, .npy, .npz, .petsc, .txt, .csv");
  app.add_option_function<std::string>(
         "--factor-precision",
         [&](const std::string& word) { request.options.factor_precision = *from_word<Precision>(word); },
         "working (default), single, tf32x3, bf16x3 or tf32; a lower precision is used if the inverse meets "
         "--accuracy")
      ->check(CLI::IsMember({"working", "single", "tf32x3", "bf16x3", "tf32"}))
      ->type_name("NAME");
  app.add_option("--accuracy", request.options.accuracy,
                 "largest backward error accepted from a lower precision")
      ->check(CLI::Range(0.0, 1.0))
      ->type_name("X");
  if (!parse(app, arguments)) return exit_solved;
  check_request(request, {{"--output", request.output}});
  ProgressLine progress(request.quiet);
  progress.announce("reading " + input_name(request.matrix));
  return with_input(request, [&]<class T>(MatrixFile<T>&& file) {
    return invert_and_report(request, as_dense(request, std::move(file)), progress);
  });
}

}  // namespace echelon::tool

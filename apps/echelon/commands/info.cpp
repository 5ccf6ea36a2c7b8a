// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/command_line.hpp"
#include "arguments/input.hpp"
#include "commands/factor_info.hpp"
#include "commands/hierarchy_info.hpp"
#include "commands/ungrounded.hpp"
#include "output/files.hpp"
#include "output/json.hpp"
#include "output/pages.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/matrix/structure.hpp>
#include <echelon/page/plots.hpp>
#include <echelon/page/report_page.hpp>
#include <echelon/solve.hpp>
#include <echelon/sweep.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace echelon::tool {

namespace {

struct MatrixSummary {
  std::string path;
  FileInfo file;
  Structure structure;
  std::int64_t structural_rank = 0;
  std::optional<RowsOfComponents> ungrounded;  ///< of a symmetric A
  std::size_t bytes = 0;
  double read_seconds = 0;
  std::optional<SweepDependencies> dependencies;  ///< with --dependencies
  FactorSummary factor;
  std::optional<HierarchySummary> hierarchy;  ///< with --hierarchy
  std::vector<Candidate> candidates;          ///< methods that `solve` would try, in order
};

double density(const Structure& s) {
  const double elements = static_cast<double>(s.rows) * static_cast<double>(s.columns);
  return elements > 0 ? static_cast<double>(s.nonzeros - s.explicit_zeros) / elements : 0;
}

std::int64_t bandwidth(const Structure& s) {
  return std::max(s.lower_bandwidth, s.upper_bandwidth);
}

std::string file_text(const FileInfo& file) {
  const std::string duplicates =
      file.duplicate_entries == 0 ? "no duplicates" : grouped(file.duplicate_entries) + " duplicates, summed";
  return fmt::format("{}, {} {} {}, {} entries, {}", to_string(file.format),
                     file.coordinate ? "coordinate" : "array", file.field, file.symmetry,
                     grouped(file.stored_entries), duplicates);
}

std::string dependencies_text(const Dependencies& d, std::int64_t rows) {
  return fmt::format("{} levels of {} to {} rows; {:.2f} dependencies per row on average, at most {}",
                     grouped(d.levels), grouped(d.smallest_level), grouped(d.largest_level), d.mean(rows),
                     grouped(d.most));
}

void add_dependencies(const MatrixSummary& summary, std::vector<Row>& rows) {
  if (!summary.dependencies) return;
  const auto& [forward, backward] = *summary.dependencies;
  rows.emplace_back("forward sweep", dependencies_text(forward, summary.structure.rows));
  rows.emplace_back("backward sweep", dependencies_text(backward, summary.structure.rows));
  rows.emplace_back("launches", fmt::format("at most {} forward and {} backward with gauss-seidel-relaunch",
                                            grouped(forward.launches), grouped(backward.launches)));
}

/// Rows after those about the structure.
std::vector<Row> finding_rows(const MatrixSummary& summary) {
  std::vector<Row> rows;
  if (summary.ungrounded && !summary.ungrounded->empty()) {
    rows.emplace_back("without ground",
                      fmt::format("{}: singular, as rows sum to zero over {}",
                                  counted(static_cast<std::int64_t>(summary.ungrounded->size()), "component"),
                                  ungrounded_text(*summary.ungrounded)));
  }
  add_factor_rows(summary.factor, summary.structure.nonzeros, rows);
  add_dependencies(summary, rows);
  return rows;
}

std::string info_text(const MatrixSummary& summary) {
  std::vector<Row> rows = {{"file", file_text(summary.file)}};
  for (const ReportRow& row : matrix_rows(summary.structure, summary.structural_rank)) {
    rows.emplace_back(row.label, row.value);
    if (row.label == "size") rows.back().second += fmt::format(", {} in memory", byte_count(summary.bytes));
  }
  for (Row& row : finding_rows(summary)) rows.push_back(std::move(row));
  if (summary.hierarchy) add_hierarchy_rows(*summary.hierarchy, rows);
  for (std::size_t i = 0; i < summary.candidates.size(); ++i) {
    const Candidate& candidate = summary.candidates[i];
    rows.emplace_back(
        i == 0 ? "solve would try" : "then",
        fmt::format("{} on {}: {}", candidate.method, candidate.device.name(), candidate.reason));
  }
  return fmt::format("{}\n{}", paint(input_name(summary.path), Colour::bold, report_stream()), aligned(rows));
}

Json candidates_json(const MatrixSummary& summary) {
  Json list = Json::array();
  for (const Candidate& candidate : summary.candidates) {
    list.push_back(
        {{"method", candidate.method}, {"device", candidate.device.name()}, {"reason", candidate.reason}});
  }
  return list;
}

Json dependencies_json(const Dependencies& d, std::int64_t rows) {
  return {{"levels", d.levels},
          {"dependencies", d.total},
          {"dependent_rows", d.dependent_rows},
          {"mean_dependencies", d.mean(rows)},
          {"most_dependencies", d.most},
          {"largest_level", d.largest_level},
          {"smallest_level", d.smallest_level},
          {"launches", d.launches}};
}

Json info_json(const MatrixSummary& summary) {
  const Structure& s = summary.structure;
  Json json = {{"file", summary.path},
               {"file_format", to_string(summary.file.format)},
               {"format", summary.file.coordinate ? "coordinate" : "array"},
               {"field", summary.file.field},
               {"symmetry", summary.file.symmetry},
               {"stored_entries", summary.file.stored_entries},
               {"duplicate_entries", summary.file.duplicate_entries},
               {"rows", s.rows},
               {"columns", s.columns},
               {"nonzeros", s.nonzeros},
               {"explicit_zeros", s.explicit_zeros},
               {"density", density(s)},
               {"bytes", summary.bytes},
               {"symmetric_pattern", s.symmetric_pattern},
               {"symmetric_values", s.symmetric_values},
               {"hermitian_values", s.hermitian_values},
               {"asymmetry", s.asymmetry},
               {"definiteness", to_string(s.definiteness)},
               {"bandwidth", bandwidth(s)},
               {"lower_bandwidth", s.lower_bandwidth},
               {"upper_bandwidth", s.upper_bandwidth},
               {"shortest_row", s.shortest_row},
               {"longest_row", s.longest_row},
               {"empty_rows", s.empty_rows},
               {"empty_columns", s.empty_columns},
               {"zero_diagonals", s.zero_diagonals},
               {"positive_diagonals", s.positive_diagonals},
               {"strictly_dominant_rows", s.strictly_dominant_rows},
               {"weakly_dominant_rows", s.weakly_dominant_rows},
               {"structural_rank", summary.structural_rank},
               {"largest_magnitude", s.largest_magnitude},
               {"smallest_magnitude", s.smallest_magnitude},
               {"read_seconds", summary.read_seconds},
               {"candidates", candidates_json(summary)}};
  if (summary.ungrounded) {
    json["ungrounded_components"] = summary.ungrounded->size();
    json["ungrounded"] = ungrounded_json(*summary.ungrounded);
  }
  add_factor_json(summary.factor, json);
  if (summary.hierarchy) json["hierarchy"] = hierarchy_json(*summary.hierarchy);
  if (summary.dependencies) {
    json["dependencies"] = {{"forward", dependencies_json(summary.dependencies->forward, s.rows)},
                            {"backward", dependencies_json(summary.dependencies->backward, s.rows)}};
  }
  return json;
}

/// The page in HTML; `command` repeats the work.
std::string info_page(const MatrixSummary& summary, const MatrixRef<double>& A, const std::string& command) {
  Page page(file_title(summary.path), "a matrix, analysed by Echelon");
  add_matrix(page, portrait(A),
             page_rows({{"file", file_text(summary.file)}, {"memory", byte_count(summary.bytes)}}));
  page.facts(page_rows(finding_rows(summary)));
  if (summary.factor.factor) add_factor(page, *summary.factor.factor);
  if (summary.hierarchy) add_hierarchy(page, summary.hierarchy->description);
  if (!summary.candidates.empty()) {
    page.section("Methods");
    PageTable table{.caption = "Methods that solve would try, in this order",
                    .columns = {"method", "device", "reason"},
                    .rows = {},
                    .text_columns = 3};
    for (const Candidate& candidate : summary.candidates)
      table.rows.push_back({candidate.method, candidate.device.name(), candidate.reason});
    page.table(table);
  }
  add_repetition(page, command, info_json(summary));
  return page.html();
}

/// Writes the requested pictures.
void draw(const MatrixSummary& summary, const MatrixRef<double>& A, const std::string& plot,
          const FactorOptions& options) {
  const std::string name = file_title(summary.path);
  if (!plot.empty() && summary.hierarchy) {
    write_text(plot, hierarchy_svg(name, summary.hierarchy->description, summary.hierarchy->levels));
  } else if (!plot.empty() && options.order.empty()) {
    write_text(plot, spy_svg(name, A));
  } else if (!plot.empty()) {
    write_text(plot, spy_svg<double>(fmt::format("{}, order {}", name, options.order),
                                     reordered(options, summary.factor, *A.csr())));
  }
  if (!options.factor_plot.empty()) write_text(options.factor_plot, factor_svg(name, *summary.factor.factor));
}

struct InfoRequest {
  std::string path;
  InputOptions input;
  std::string plot;
  std::string page;
  FactorOptions factor;
  HierarchyOptions hierarchy;
  bool dependencies = false;
  bool json = false;
  bool quiet = false;
};

void add_options(CLI::App& app, InfoRequest& request) {
  add_matrix_argument(app, "A", request.path);
  add_file_option(app, "--plot", request.plot, "draw the sparsity pattern")->type_name("FILE.svg");
  add_page_option(app, request.page);
  app.add_flag("--dependencies", request.dependencies,
               "analyse the dependencies of rows in Gauss-Seidel sweeps");
  add_hierarchy_options(app, request.hierarchy);
  app.add_flag("--json", request.json, "print the report as one line of JSON");
  app.add_flag("--quiet", request.quiet, "print no progress");
  add_factor_options(app, request.factor);
  add_input_options(app, request.input);
}

void check(const InfoRequest& request) {
  check_plot_name({"--plot", request.plot});
  check_plot_name({"--plot-factor", request.factor.factor_plot});
  check_page_name({"--report", request.page});
  check_hierarchy_options(request.hierarchy);
  std::vector<std::string> inputs = files_of(request.hierarchy.near_null_space);
  inputs.push_back(request.path);
  check_files(
      inputs,
      {{"--plot", request.plot}, {"--plot-factor", request.factor.factor_plot}, {"--report", request.page}});
}

/// Facts that complex matrices have as well as real ones.
template <class T>
MatrixSummary describe(const InfoRequest& request, const MatrixFile<T>& file) {
  const MatrixRef<T> A(file.matrix);
  MatrixSummary summary;
  summary.path = request.path;
  summary.file = file.info;
  summary.bytes = std::visit([](const auto& matrix) { return matrix.bytes(); }, file.matrix);
  summary.structure = analyze_structure(A);
  summary.structural_rank = structural_rank(A);
  summary.candidates = choose(A);
  return summary;
}

void add_real_facts(const InfoRequest& request, const MatrixRef<double>& A, MatrixSummary& summary) {
  if (summary.structure.symmetric_values) summary.ungrounded = find_ungrounded(A);
  if (request.dependencies) summary.dependencies = analyze_dependencies(A);
  summary.factor = analyze_factor(request.factor, A);
  if (request.hierarchy.wanted) summary.hierarchy = analyze_hierarchy(request.hierarchy, A);
}

/// Refuses what is found for real matrices only.
void check_complex_request(const InfoRequest& request) {
  const FactorOptions& factor = request.factor;
  const std::pair<bool, const char*> asked[] = {{!request.plot.empty(), "--plot"},
                                                {!request.page.empty(), "--report"},
                                                {!factor.factor_plot.empty(), "--plot-factor"},
                                                {!factor.order.empty(), "--order"},
                                                {request.dependencies, "--dependencies"},
                                                {request.hierarchy.wanted, "--hierarchy"}};
  for (const auto& [is_given, option] : asked) {
    if (is_given)
      throw BadOption(option, fmt::format("{} is for real matrices, and {} is complex", option,
                                          input_name(request.path)));
  }
}

}  // namespace

ExitCode run_info(const Arguments& arguments) {
  InfoRequest request;
  CLI::App app("Reports the structure and the values of a matrix.", "echelon info");
  set_style(app);
  add_options(app, request);
  if (!parse(app, arguments)) return exit_solved;
  check(request);

  ProgressLine progress(request.quiet);
  progress.announce("reading " + input_name(request.path));
  const Stopwatch reading;
  const AnyMatrixFile file = read_any_input(request.path, request.input);
  const double read_seconds = reading.seconds();
  const auto* const real = std::get_if<MatrixFile<double>>(&file);
  if (real == nullptr) check_complex_request(request);
  progress.announce("analysing " + input_name(request.path));
  MatrixSummary summary =
      std::visit([&](const auto& of_numbers) { return describe(request, of_numbers); }, file);
  summary.read_seconds = read_seconds;
  if (real != nullptr) {
    const MatrixRef<double> A(real->matrix);
    add_real_facts(request, A, summary);
    draw(summary, A, request.plot, request.factor);
    if (!request.page.empty())
      write_text(request.page, info_page(summary, A, command_text("info", arguments)));
  }
  progress.clear();
  if (request.json) {
    print_json(info_json(summary));
  } else {
    print_report(info_text(summary));
  }
  return exit_solved;
}

}  // namespace echelon::tool

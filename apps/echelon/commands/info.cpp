// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/command_line.hpp"
#include "arguments/input.hpp"
#include "output/files.hpp"
#include "output/json.hpp"
#include "output/plots.hpp"
#include "terminal/progress_line.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/gauss_seidel.hpp>
#include <echelon/solve.hpp>
#include <echelon/structure.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace echelon::tool {

namespace {

struct Findings {
  std::string path;
  FileInfo file;
  Structure structure;
  std::int64_t structural_rank = 0;
  std::size_t bytes = 0;
  double read_seconds = 0;
  std::optional<SweepDependencies> dependencies;  ///< if asked for
  std::vector<Candidate> candidates;              ///< what `solve` would try; none for a rectangular matrix
};

double density(const Structure& s) {
  const double elements = static_cast<double>(s.rows) * static_cast<double>(s.columns);
  return elements > 0 ? static_cast<double>(s.nonzeros - s.explicit_zeros) / elements : 0;
}

std::int64_t bandwidth(const Structure& s) {
  return std::max(s.lower_bandwidth, s.upper_bandwidth);
}

std::string symmetry_words(const Structure& s) {
  if (s.rows != s.columns) return "rectangular";
  if (s.symmetric_values) return "symmetric, in pattern and in values";
  const std::string pattern = s.symmetric_pattern ? "symmetric pattern" : "unsymmetric pattern";
  return fmt::format("{}, unsymmetric values: max |a_ij - a_ji| / max |a_ij| = {}", pattern,
                     short_number(s.asymmetry));
}

std::string definiteness_words(Definiteness definiteness) {
  switch (definiteness) {
    case Definiteness::positive_definite:
      return "positive definite (positive diagonal, strictly dominant)";
    case Definiteness::positive_semidefinite:
      return "positive semidefinite (nonnegative diagonal, dominant)";
    case Definiteness::maybe_positive_definite:
      return "perhaps positive definite (the diagonal does not speak against it)";
    case Definiteness::indefinite:
      return "indefinite (the diagonal or a 2-by-2 minor shows it)";
    case Definiteness::unknown:
      break;
  }
  return "unknown";
}

std::string dominance_words(const Structure& s) {
  if (s.strictly_dominant_rows == s.rows) return "strict, in every row";
  if (s.weakly_dominant_rows == s.rows) {
    return fmt::format("weak, in every row; strict in {}", grouped(s.strictly_dominant_rows));
  }
  return fmt::format("in {} of {} rows; strict in {}", grouped(s.weakly_dominant_rows), grouped(s.rows),
                     grouped(s.strictly_dominant_rows));
}

std::string rank_words(const Findings& found) {
  const std::int64_t full = std::min(found.structure.rows, found.structure.columns);
  if (found.structural_rank == full) return fmt::format("{}, full", grouped(full));
  return fmt::format("{} of {}: the matrix is singular whatever its values", grouped(found.structural_rank),
                     grouped(full));
}

std::string file_words(const FileInfo& file) {
  const std::string duplicates =
      file.duplicate_entries == 0 ? "no duplicates" : grouped(file.duplicate_entries) + " duplicates, summed";
  return fmt::format("{}, {} {} {}, {} entries, {}", to_string(file.format),
                     file.coordinate ? "coordinate" : "array", file.field, file.symmetry,
                     grouped(file.stored_entries), duplicates);
}

std::string dependencies_words(const Dependencies& d, std::int64_t rows) {
  return fmt::format("{} levels, of {} to {} rows; {:.2f} dependencies a row in the mean, {} at most",
                     grouped(d.levels), grouped(d.smallest_level), grouped(d.largest_level), d.mean(rows),
                     grouped(d.most));
}

void add_dependencies(const Findings& found, std::vector<Row>& rows) {
  if (!found.dependencies) return;
  const auto& [forward, backward] = *found.dependencies;
  rows.emplace_back("forward sweep", dependencies_words(forward, found.structure.rows));
  rows.emplace_back("backward sweep", dependencies_words(backward, found.structure.rows));
  rows.emplace_back("launches", fmt::format("at most {} forward and {} backward by the relaunch scheme",
                                            grouped(forward.launches), grouped(backward.launches)));
}

std::string info_text(const Findings& found) {
  const Structure& s = found.structure;
  std::vector<Row> rows = {
      {"file", file_words(found.file)},
      {"size",
       fmt::format("{} x {}, {} in memory", grouped(s.rows), grouped(s.columns), byte_count(found.bytes))},
      {"nonzeros",
       fmt::format("{} ({:.2g} %), {} to {} a row; {} stored zeros", grouped(s.nonzeros - s.explicit_zeros),
                   100 * density(s), s.shortest_row, s.longest_row, grouped(s.explicit_zeros))},
      {"symmetry", symmetry_words(s)},
      {"definiteness", definiteness_words(s.definiteness)},
      {"bandwidth", fmt::format("{} below and {} above the diagonal", grouped(s.lower_bandwidth),
                                grouped(s.upper_bandwidth))},
      {"diagonal", fmt::format("{} zero or missing, {} positive", grouped(s.zero_diagonals),
                               grouped(s.positive_diagonals))},
      {"diagonal dominance", dominance_words(s)},
      {"structural rank", rank_words(found)},
      {"empty", fmt::format("{} rows, {} columns", grouped(s.empty_rows), grouped(s.empty_columns))},
      {"magnitudes",
       fmt::format("{} to {}", short_number(s.smallest_magnitude), short_number(s.largest_magnitude))}};
  add_dependencies(found, rows);
  for (std::size_t i = 0; i < found.candidates.size(); ++i) {
    const Candidate& candidate = found.candidates[i];
    rows.emplace_back(
        i == 0 ? "solve would try" : "then",
        fmt::format("{} on {}: {}", candidate.method, candidate.device.name(), candidate.reason));
  }
  return fmt::format("{}\n{}", paint(input_name(found.path), Colour::bold, report_stream()), aligned(rows));
}

Json candidates_json(const Findings& found) {
  Json list = Json::array();
  for (const Candidate& candidate : found.candidates) {
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

Json info_json(const Findings& found) {
  const Structure& s = found.structure;
  Json json = {{"file", found.path},
               {"file_format", to_string(found.file.format)},
               {"format", found.file.coordinate ? "coordinate" : "array"},
               {"field", found.file.field},
               {"symmetry", found.file.symmetry},
               {"stored_entries", found.file.stored_entries},
               {"duplicate_entries", found.file.duplicate_entries},
               {"rows", s.rows},
               {"columns", s.columns},
               {"nonzeros", s.nonzeros},
               {"explicit_zeros", s.explicit_zeros},
               {"density", density(s)},
               {"bytes", found.bytes},
               {"symmetric_pattern", s.symmetric_pattern},
               {"symmetric_values", s.symmetric_values},
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
               {"structural_rank", found.structural_rank},
               {"largest_magnitude", s.largest_magnitude},
               {"smallest_magnitude", s.smallest_magnitude},
               {"read_seconds", found.read_seconds},
               {"candidates", candidates_json(found)}};
  if (found.dependencies) {
    json["dependencies"] = {{"forward", dependencies_json(found.dependencies->forward, s.rows)},
                            {"backward", dependencies_json(found.dependencies->backward, s.rows)}};
  }
  return json;
}

}  // namespace

ExitCode run_info(const Arguments& arguments) {
  Findings found;
  InputOptions input;
  std::string plot;
  bool dependencies = false;
  bool json = false;
  bool quiet = false;
  CLI::App app("Says what a matrix looks like.", "echelon info");
  set_style(app);
  add_matrix_argument(app, "A", found.path);
  add_file_option(app, "--plot", plot, "draw the sparsity pattern")->type_name("FILE.svg");
  app.add_flag("--dependencies", dependencies, "who waits for whom in a Gauss-Seidel sweep");
  app.add_flag("--json", json, "one line of JSON");
  app.add_flag("--quiet", quiet, "no progress");
  add_input_options(app, input);
  if (!parse(app, arguments)) return exit_solved;
  check_plot_name({"--plot", plot});
  check_files({found.path}, {{"--plot", plot}});

  ProgressLine progress(quiet);
  progress.say("reading " + input_name(found.path));
  const Stopwatch reading;
  const MatrixFile<double> file = read_input<double>(found.path, input);
  const MatrixRef<double> A(file.matrix);
  found.read_seconds = reading.seconds();
  progress.say("analysing " + input_name(found.path));
  found.file = file.info;
  found.structure = analyze_structure(A);
  found.structural_rank = structural_rank(A);
  found.bytes = std::visit([](const auto& matrix) { return matrix.bytes(); }, file.matrix);
  if (dependencies) found.dependencies = analyze_dependencies(A);
  if (A.rows() == A.columns()) found.candidates = choose(A);
  if (!plot.empty())
    write_text(plot, spy_svg(utf8(std::filesystem::path(input_name(found.path)).filename().string()), A));
  progress.clear();
  if (json) {
    print_json(info_json(found));
  } else {
    print_report(info_text(found));
  }
  return exit_solved;
}

}  // namespace echelon::tool

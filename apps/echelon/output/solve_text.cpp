// SPDX-License-Identifier: BSD-3-Clause
#include "output/solve_outcome.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <echelon/solver/report_rows.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

namespace echelon::tool {

namespace {

/// The outcome, which is the first row.
std::string headline(const ReportRow& outcome) {
  const Colour colour = outcome.severity == Severity::failure ? Colour::red : Colour::green;
  return fmt::format("{} {}\n", paint(outcome.label + ":", colour, report_stream()), outcome.value);
}

void add_system(std::vector<Row>& rows, const SolveOutcome& outcome) {
  rows.emplace_back("matrix", matrix_text(outcome));
  rows.emplace_back("right-hand side", right_hand_side_text(outcome.right_hand_side));
}

std::string output_text(const SolveOutcome& outcome) {
  const std::string name = output_name(outcome.output);
  if (outcome.write_failure) return name + " not written: see the error below";
  if (!outcome.output_written) return name + " not written: there is no x";
  return outcome.report.solved() ? name : name + ", the best x that was reached";
}

/// The time of the library, with the steps of the tool around it.
std::string time_text(const SolveOutcome& outcome, const std::string& of_solver) {
  std::string text =
      fmt::format("{}: reading {}", duration(outcome.total_seconds), duration(outcome.read_seconds));
  if (!of_solver.empty()) text += ", " + of_solver;
  if (outcome.certify_seconds > 0) text += ", certificate " + duration(outcome.certify_seconds);
  if (outcome.output_written) text += ", writing " + duration(outcome.write_seconds);
  return text;
}

/// A row of the report, with what the tool knows in addition.
std::string completed(const ReportRow& row, const SolveOutcome& outcome) {
  if (row.label == "device")
    return fmt::format("{} ({}), in {}", row.value, outcome.hardware, outcome.precision);
  if (row.label == "time") return time_text(outcome, row.value);
  if (row.label == "memory")
    return fmt::format("{}, {} for the matrix", row.value, byte_count(outcome.matrix_bytes));
  return row.value;
}

}  // namespace

std::string matrix_text(const SolveOutcome& outcome) {
  const FileInfo& file = outcome.file;
  const std::string size = fmt::format("{} x {}", grouped(file.rows), grouped(file.columns));
  if (!file.coordinate)
    return fmt::format("{}: {}, dense, {}", input_name(outcome.matrix), size, file.symmetry);
  return fmt::format("{}: {}, {}, {}", input_name(outcome.matrix), size, counted(outcome.nonzeros, "nonzero"),
                     file.symmetry);
}

std::string right_hand_side_text(const RhsSource& source) {
  if (source.columns == 1) return source.description;
  return fmt::format("{}: {} columns; the figures are those of the worst", source.description,
                     grouped(source.columns));
}

Report certified_report(const SolveOutcome& outcome) {
  Report report = outcome.report;
  if (outcome.certificate)
    report.certificate = {std::shared_ptr<const void>(), &*outcome.certificate};  // which outlives the copy
  return report;
}

std::string solve_text(const SolveOutcome& outcome) {
  const std::vector<ReportRow> report = report_rows(certified_report(outcome));
  std::vector<Row> rows;
  for (auto row = report.begin() + 1; row != report.end(); ++row) {
    const bool is_first_fact = row == report.begin() + 1;
    if (is_first_fact && row->label != "because") add_system(rows, outcome);
    rows.emplace_back(row->label, completed(*row, outcome));
    if (is_first_fact && row->label == "because") add_system(rows, outcome);
    if (row->label == "backward error" && outcome.distance_from_ones)
      rows.emplace_back("max |x - 1|", fmt::format("{:.2e}", *outcome.distance_from_ones));
  }
  if (!outcome.output.empty()) rows.emplace_back("solution", output_text(outcome));
  return headline(report.front()) + aligned(rows);
}

}  // namespace echelon::tool

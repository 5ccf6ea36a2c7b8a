// SPDX-License-Identifier: BSD-3-Clause
#include "output/factor_precision.hpp"
#include "output/solve_outcome.hpp"
#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace echelon::tool {

namespace {

std::string status_text(const Report& report) {
  const std::string method = method_name(report.method);
  const std::string after =
      report.iterations == 0 ? "at the start" : "after " + counted(report.iterations, "iteration");
  switch (report.status) {
    case Status::converged:
      return fmt::format("{} converged {}", method, after);
    case Status::least_squares:
      return fmt::format("{}, a solution of least residual", method);
    case Status::ready:
      return fmt::format("{} is set up", method);
    case Status::direct:
      return fmt::format("{}, a direct method", method);
    case Status::max_iterations:
      return fmt::format("{} reached its limit of {}", method, counted(report.iterations, "iteration"));
    case Status::stagnated:
      return fmt::format("{} stagnated {}", method, after);
    case Status::diverged:
      return fmt::format("{} diverged {}", method, after);
    case Status::breakdown:
      return fmt::format("{} broke down {}", method, after);
    case Status::singular:
      return report.row ? "the matrix is singular" : "the matrix is singular to working precision";
    case Status::inconsistent:
      return "the system is inconsistent, no solution exists";
    case Status::underdetermined:
      return fmt::format("{}, one of many solutions", method);
    case Status::not_a_number:
      return "NaN or infinity in A, b or x";
    case Status::not_spd:
      return fmt::format("{} needs symmetric positive definite A and preconditioner", method);
    case Status::out_of_memory:
      return fmt::format("{} ran out of memory", method);
    case Status::cancelled:
      return fmt::format("{} was cancelled {}", method, after);
  }
  return {};
}

std::string headline(const Report& report) {
  const std::string_view word = report.solved() ? "Solved:" : "Not solved:";
  const Colour colour = report.solved() ? Colour::green : Colour::red;
  return fmt::format("{} {}\n", paint(word, colour, report_stream()), status_text(report));
}

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

std::string method_text(const Report& report) {
  return report.reason.empty() ? report.method : fmt::format("{}: {}", report.method, report.reason);
}

std::string attempt_text(const Attempt& attempt) {
  std::string text =
      fmt::format("{}: {} after {}", attempt.method, to_string(attempt.status), duration(attempt.seconds));
  if (!attempt.message.empty()) text += "; " + attempt.message;
  return text;
}

std::string residual_text(const Report& report) {
  std::string measured = fmt::format("{:.2e}", report.relative_residual);
  if (report.tolerance <= 0) return measured;
  // Report::tolerance bounds ||b - A x||; the printed tolerance is relative to ||b||.
  const double scale = report.residual_norm > 0 ? report.relative_residual / report.residual_norm : 0;
  if (scale <= 0) return measured;
  return fmt::format("{} (tolerance {})", measured, short_number(report.tolerance * scale));
}

std::string condition_text(const Report& report) {
  if (!report.reciprocal_condition) return "not estimated by this method";
  if (!(*report.reciprocal_condition > 0)) return "infinite";
  const std::string about = fmt::format("about {:.1e}", 1 / *report.reciprocal_condition);
  return report.condition_kind == ConditionKind::krylov ? about + " or more" : about;
}

std::string accuracy_text(const Report& report) {
  const int digits = report.expected_digits().value_or(0);
  if (digits == 0) return "possibly no correct digit in x";
  return fmt::format("expect about {} correct digit{} in the largest elements of x", digits,
                     digits == 1 ? "" : "s");
}

std::string output_text(const SolveOutcome& outcome) {
  const std::string name = output_name(outcome.output);
  if (outcome.write_failure) return name + " not written: see the error below";
  if (!outcome.output_written) return name + " not written: there is no x";
  return outcome.report.solved() ? name : name + ", the best x that was reached";
}

double attempts_seconds(const Report& report) {
  double seconds = 0;
  for (const Attempt& attempt : report.attempts) seconds += attempt.seconds;
  return seconds;
}

std::string time_text(const SolveOutcome& outcome) {
  const Report& report = outcome.report;
  std::vector<std::string> parts = {"reading " + duration(outcome.read_seconds)};
  const auto add = [&](std::string_view name, double seconds) {
    if (seconds > 0) parts.push_back(fmt::format("{} {}", name, duration(seconds)));
  };
  add("choosing", report.choosing_seconds);
  add("failed attempts", attempts_seconds(report));
  add("analysis", report.analysis_seconds);
  add("setup", report.setup_seconds);
  add("solving", report.solve_seconds);
  add("transfer", report.transfer_seconds);
  add("certificate", outcome.certify_seconds);
  return fmt::format("{}: {}", duration(outcome.total_seconds), fmt::join(parts, ", "));
}

std::string statistics_text(const Report& report) {
  std::string text;
  for (const Statistic& statistic : report.statistics) {
    text += (text.empty() ? "" : ", ") + to_string(statistic);
  }
  return text;
}

/// One statement about the error of x: the proven bound, or else the estimate.
std::string error_text(const Report& report, const std::optional<ErrorCertificate>& certificate) {
  if (certificate && certificate->proven()) {
    return fmt::format("|x_i - x*_i| <= {:.2e}, {:.2e} relative to the largest element, proven: {}",
                       certificate->error_bound, certificate->relative_error_bound, certificate->reason);
  }
  std::string text = report.error_estimate ? accuracy_text(report) : "";
  if (certificate)
    text += fmt::format("{}no bound was proven: {}", text.empty() ? "" : "; ", certificate->reason);
  return text;
}

void add_accuracy(std::vector<Row>& rows, const SolveOutcome& outcome) {
  const Report& report = outcome.report;
  if (has_solution(report)) {
    rows.emplace_back("relative residual", residual_text(report));
    rows.emplace_back("backward error", fmt::format("{:.2e}", report.backward_error));
  }
  if (outcome.distance_from_ones) {
    rows.emplace_back("max |x - 1|", fmt::format("{:.2e}", *outcome.distance_from_ones));
  }
  if (has_solution(report) || report.reciprocal_condition) {
    rows.emplace_back("condition", condition_text(report));
  }
  const std::string error = error_text(report, outcome.certificate);
  if (!error.empty()) rows.emplace_back("accuracy", error);
}

}  // namespace

std::string solve_text(const SolveOutcome& outcome) {
  const Report& report = outcome.report;
  std::vector<Row> rows;
  if (!report.message.empty()) rows.emplace_back("because", report.message);
  rows.emplace_back("matrix", matrix_text(outcome));
  rows.emplace_back("right-hand side", right_hand_side_text(outcome.right_hand_side));
  for (const Attempt& attempt : report.attempts) rows.emplace_back("tried before", attempt_text(attempt));
  rows.emplace_back("method", method_text(report));
  rows.emplace_back("device",
                    fmt::format("{} ({}), in {}", report.device.name(), outcome.hardware, outcome.precision));
  add_factor_precision(rows, report);
  add_accuracy(rows, outcome);
  if (!report.statistics.empty()) rows.emplace_back("statistics", statistics_text(report));
  rows.emplace_back("time", time_text(outcome));
  rows.emplace_back("memory", fmt::format("{} for the solver, {} for the matrix", byte_count(report.bytes),
                                          byte_count(outcome.matrix_bytes)));
  for (const std::string& warning : report.warnings) rows.emplace_back("warning", warning);
  if (!outcome.output.empty()) rows.emplace_back("solution", output_text(outcome));
  return headline(report) + aligned(rows);
}

}  // namespace echelon::tool

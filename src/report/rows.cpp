// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "report/names.hpp"
#include "support/text.hpp"

#include <echelon/solver/report_rows.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace echelon {

std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  const std::ptrdiff_t first = number < 0 ? 1 : 0;
  for (auto i = std::ssize(digits) - 3; i > first; i -= 3) digits.insert(static_cast<std::size_t>(i), 1, ',');
  return digits;
}

std::string duration(double seconds) {
  if (seconds < 0.9995e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 59.995) return fmt::format("{:.2f} s", seconds);
  const auto whole = std::llround(seconds);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
}

namespace {

std::string iterations_text(std::int64_t count) {
  return count == 1 ? "1 iteration" : grouped(count) + " iterations";
}

std::string outcome_text(const Report& report) {
  const std::string method = name_of(report.method);
  const std::string after =
      report.iterations == 0 ? "at the start" : "after " + iterations_text(report.iterations);
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
      return fmt::format("{} reached its limit of {}", method, iterations_text(report.iterations));
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
      return fmt::format("{}, one of many solutions{}", method,
                         report.certainty == Certainty::proven ? "" : " to working precision");
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

/// Advice after an outcome.
std::string_view advice(Status status) {
  switch (status) {
    case Status::converged:
    case Status::direct:
    case Status::least_squares:
    case Status::ready:
      return {};
    case Status::underdetermined:
      return "Take x, add vectors of the null space, or give the equations that are missing.";
    case Status::max_iterations:
      return "If the history falls steadily, allow more iterations; if it is flat, change the preconditioner "
             "or the method.";
    case Status::stagnated:
      return "If the backward error is near the rounding error, x is as good as it gets; otherwise take a "
             "better preconditioner or another method.";
    case Status::diverged:
      return "The method does not suit A: choose another.";
    case Status::breakdown:
      return "Choose another preconditioner or method.";
    case Status::singular:
      return "Check the model: a missing boundary condition, an empty row, a repeated equation.";
    case Status::inconsistent:
      return "Look at the equations that are named; for an x of least residual ask for least_squares.";
    case Status::not_a_number:
      return "Mend the data, or scale the system.";
    case Status::not_spd:
      return "Choose gmres or a direct method, or another preconditioner.";
    case Status::out_of_memory:
      return "Choose a sparse format, an iterative method, or a larger machine.";
    case Status::cancelled:
      return "x is what was reached.";
  }
  return {};
}

ReportRow outcome_row(const Report& report) {
  const bool good = report.solved() || report.ready();
  return {report.ready() ? "Ready" : (good ? "Solved" : "Not solved"), outcome_text(report),
          std::string(advice(report.status)), good ? Severity::good : Severity::failure};
}

std::string attempt_text(const Attempt& attempt) {
  std::string text =
      fmt::format("{}: {} after {}", attempt.method, to_string(attempt.status), duration(attempt.seconds));
  if (!attempt.message.empty()) text += "; " + attempt.message;
  return text;
}

std::string precision_text(const Report& report) {
  const FactorPrecision& precision = *report.factor_precision;
  std::string text(to_string(precision.used));
  if (precision.used != precision.asked)
    text += fmt::format(", not {}: {}", to_string(precision.asked), precision.why);
  if (report.iterations > 0) text += fmt::format("; steps of refinement: {}", report.iterations);
  return text;
}

ReportRow residual_row(const Report& report) {
  ReportRow row{"relative residual", fmt::format("{:.2e}", report.relative_residual),
                "||b - A x|| / ||b||, computed from the A, b and x that are returned.",
                report.solved() ? Severity::good : Severity::failure};
  // Report::tolerance bounds ||b - A x||; the printed tolerance is relative to ||b||.
  const double scale = report.residual_norm > 0 ? report.relative_residual / report.residual_norm : 0;
  if (report.tolerance > 0 && scale > 0)
    row.value += fmt::format(" (tolerance {})", short_number(report.tolerance * scale));
  return row;
}

std::string condition_text(const Report& report) {
  if (!report.reciprocal_condition) return "not estimated by this method";
  if (!(*report.reciprocal_condition > 0)) return "infinite";
  const std::string about = fmt::format("about {:.1e}", 1 / *report.reciprocal_condition);
  return report.condition_kind == ConditionKind::krylov ? about + " or more" : about;
}

/// The residual of the normal equations, which vanishes for an x of least residual.
ReportRow normal_residual_row(const Report& report) {
  return {"normal residual", fmt::format("{:.2e}", *report.normal_residual),
          "||A^T r|| / (||A|| ||r||) for r = b - A x: zero where x has the least residual.",
          report.solved() ? Severity::good : Severity::failure};
}

/// One statement about the error of x: the proven bound, or else the estimate.
ReportRow accuracy_row(const Report& report) {
  ReportRow row{.label = "accuracy"};
  if (report.certified()) {
    const ErrorCertificate& certificate = *report.certificate;
    row.value = fmt::format("|x_i - x*_i| <= {:.2e}, {:.2e} relative to the largest element, proven: {}",
                            certificate.error_bound, certificate.relative_error_bound, certificate.reason);
    row.severity = Severity::good;
    return row;
  }
  if (const std::optional<int> digits = report.expected_digits()) {
    row.value = *digits == 0 ? "possibly no correct digit in x"
                             : fmt::format("expect about {} correct digit{} in the largest elements of x",
                                           *digits, *digits == 1 ? "" : "s");
    row.severity = *digits == 0 ? Severity::warning : Severity::good;
    if (*digits == 0)
      row.explanation = "A small residual does not make x accurate where A is ill-conditioned.";
  }
  if (report.certificate != nullptr) {
    row.value +=
        fmt::format("{}no bound was proven: {}", row.value.empty() ? "" : "; ", report.certificate->reason);
  }
  return row;
}

std::string statistics_text(const Report& report) {
  std::string text;
  for (const Statistic& statistic : report.statistics)
    text += (text.empty() ? "" : ", ") + to_string(statistic);
  return text;
}

std::string time_text(const Report& report) {
  const double attempts =
      std::accumulate(report.attempts.begin(), report.attempts.end(), 0.0,
                      [](double sum, const Attempt& attempt) { return sum + attempt.seconds; });
  std::string text;
  for (const auto& [name, seconds] :
       {std::pair("choosing", report.choosing_seconds), std::pair("failed attempts", attempts),
        std::pair("analysis", report.analysis_seconds), std::pair("setup", report.setup_seconds),
        std::pair("solving", report.solve_seconds), std::pair("transfer", report.transfer_seconds)}) {
    if (seconds > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, duration(seconds));
  }
  return text;
}

std::vector<ReportRow> all_rows(const Report& report) {
  std::vector<ReportRow> rows = {outcome_row(report), {.label = "because", .value = report.message}};
  for (const Attempt& attempt : report.attempts)
    rows.push_back({.label = "tried before", .value = attempt_text(attempt)});
  rows.push_back(
      {.label = "method",
       .value = report.reason.empty() ? report.method : fmt::format("{}: {}", report.method, report.reason)});
  rows.push_back({.label = "device", .value = report.device.name()});
  if (report.factor_precision) rows.push_back({.label = "factor precision", .value = precision_text(report)});
  const bool has_solution = !report.columns.empty();
  if (has_solution) {
    rows.push_back(residual_row(report));
    if (report.normal_residual) rows.push_back(normal_residual_row(report));
    rows.push_back({"backward error", fmt::format("{:.2e}", report.backward_error),
                    "Relative change of A and b that makes x exact."});
  }
  if (has_solution || report.reciprocal_condition)
    rows.push_back({"condition", condition_text(report), "Factor by which errors of A and b grow in x."});
  rows.push_back(accuracy_row(report));
  rows.push_back({.label = "statistics", .value = statistics_text(report)});
  rows.push_back({.label = "time", .value = time_text(report)});
  rows.push_back({.label = "memory", .value = byte_count(report.bytes) + " for the solver"});
  for (const std::string& warning : report.warnings)
    rows.push_back({.label = "warning", .value = warning, .severity = Severity::warning});
  return rows;
}

}  // namespace

std::vector<ReportRow> report_rows(const Report& report) {
  return at_api_boundary([&] {
    std::vector<ReportRow> rows = all_rows(report);
    std::erase_if(rows, [](const ReportRow& row) { return row.value.empty(); });
    return rows;
  });
}

}  // namespace echelon

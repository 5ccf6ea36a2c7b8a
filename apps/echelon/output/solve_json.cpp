// SPDX-License-Identifier: BSD-3-Clause
#include "output/exit_code.hpp"
#include "output/factor_precision.hpp"
#include "output/solve_outcome.hpp"

#include <cmath>
#include <string>
#include <variant>

namespace echelon::tool {

namespace {

/// Residuals in JSON; null if there is no x, for which the report's residuals are 0.
Json if_computed(const Report& report, double figure) {
  return has_solution(report) ? Json(figure) : Json(nullptr);
}

Json null_space_dimension(const SolveOutcome& outcome) {
  return outcome.report.rank ? Json(outcome.file.columns - *outcome.report.rank) : Json(nullptr);
}

Json matrix_json(const SolveOutcome& outcome) {
  const FileInfo& file = outcome.file;
  return {{"file", outcome.matrix},
          {"rows", file.rows},
          {"columns", file.columns},
          {"nonzeros", outcome.nonzeros},
          {"file_format", to_string(file.format)},
          {"format", file.coordinate ? "coordinate" : "array"},
          {"field", file.field},
          {"symmetry", file.symmetry},
          {"bytes", outcome.matrix_bytes}};
}

Json right_hand_side_json(const RhsSource& source) {
  return {{"source", source.kind},
          {"file", source.file.empty() ? Json(nullptr) : Json(source.file)},
          {"seed", or_null(source.seed)},
          {"columns", source.columns}};
}

Json columns_json(const Report& report) {
  Json list = Json::array();
  for (const ColumnReport& column : report.columns) {
    list.push_back({{"status", to_string(column.status)},
                    {"iterations", column.iterations},
                    {"relative_residual", column.relative_residual},
                    {"backward_error", column.backward_error},
                    {"error_estimate", or_null(column.error_estimate)}});
  }
  return list;
}

/// Certificate in JSON; null if none was requested or there is no x. An infinite bound is null.
Json certificate_json(const SolveOutcome& outcome) {
  if (!outcome.certificate) return nullptr;
  const ErrorCertificate& certificate = *outcome.certificate;
  const auto finite = [](double bound) { return std::isfinite(bound) ? Json(bound) : Json(nullptr); };
  return {{"proof", to_string(certificate.proof)},
          {"reason", certificate.reason},
          {"error_bound", finite(certificate.error_bound)},
          {"relative_error_bound", finite(certificate.relative_error_bound)},
          {"smallest_eigenvalue", or_null(certificate.smallest_eigenvalue)},
          {"seconds", outcome.certify_seconds}};
}

Json attempts_json(const Report& report) {
  Json list = Json::array();
  for (const Attempt& attempt : report.attempts) {
    list.push_back({{"method", method_name(attempt.method)},
                    {"description", attempt.method},
                    {"status", to_string(attempt.status)},
                    {"message", attempt.message},
                    {"seconds", attempt.seconds}});
  }
  return list;
}

}  // namespace

std::string method_name(const std::string& description) {
  return description.substr(0, description.find(' '));
}

Json solve_json(const SolveOutcome& outcome) {
  const Report& report = outcome.report;
  return {{"status", to_string(report.status)},
          {"solved", report.solved()},
          {"exit_code", int{exit_code(report.status)}},
          {"method", method_name(report.method)},
          {"description", report.method},
          {"device", report.device.name()},
          {"hardware", outcome.hardware},
          {"precision", outcome.precision},
          {"reason", report.reason},
          {"message", report.message},
          {"warnings", report.warnings},
          {"row", or_null(report.row)},
          {"column", or_null(report.column)},
          {"iterations", report.iterations},
          {"residual_norm", if_computed(report, report.residual_norm)},
          {"relative_residual", if_computed(report, report.relative_residual)},
          {"tolerance", report.tolerance},
          {"backward_error", if_computed(report, report.backward_error)},
          {"reciprocal_condition", or_null(report.reciprocal_condition)},
          {"condition_kind", to_string(report.condition_kind)},
          {"preconditioned_condition", or_null(report.preconditioned_condition)},
          {"error_estimate", or_null(report.error_estimate)},
          {"expected_digits", or_null(report.expected_digits())},
          {"certificate", certificate_json(outcome)},
          {"rank", or_null(report.rank)},
          {"certainty", to_string(report.certainty)},
          {"null_space_dimension", null_space_dimension(outcome)},
          {"factor_precision", factor_precision_json(report)},
          {"statistics", statistics_json(report)},
          {"distance_from_ones", or_null(outcome.distance_from_ones)},
          {"read_seconds", outcome.read_seconds},
          {"choosing_seconds", report.choosing_seconds},
          {"analysis_seconds", report.analysis_seconds},
          {"setup_seconds", report.setup_seconds},
          {"solve_seconds", report.solve_seconds},
          {"transfer_seconds", report.transfer_seconds},
          {"total_seconds", outcome.total_seconds},
          {"bytes", report.bytes},
          {"matrix", matrix_json(outcome)},
          {"right_hand_side", right_hand_side_json(outcome.right_hand_side)},
          {"output", outcome.output_written ? Json(outcome.output) : Json(nullptr)},
          {"attempts", attempts_json(report)},
          {"columns", columns_json(report)},
          {"history", report.history}};
}

}  // namespace echelon::tool

// SPDX-License-Identifier: BSD-3-Clause
#include "report/json.hpp"

#include "backend/api_boundary.hpp"
#include "report/names.hpp"

#include <echelon/solver/report_json.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace echelon {

namespace {

Json if_finite(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

/// A figure of an x, which says nothing where there is none.
Json if_computed(const Report& report, double figure) {
  return report.columns.empty() ? Json(nullptr) : Json(figure);
}

Json statistics_json(const Report& report) {
  Json object = Json::object();
  for (const Statistic& statistic : report.statistics) {
    object[statistic.name] = std::visit([](const auto& value) { return Json(value); }, statistic.value);
  }
  return object;
}

Json factor_precision_json(const std::optional<FactorPrecision>& precision) {
  if (!precision) return nullptr;
  return {{"asked", to_string(precision->asked)},
          {"used", to_string(precision->used)},
          {"why", precision->why.empty() ? Json(nullptr) : Json(precision->why)}};
}

Json columns_json(const std::vector<ColumnReport>& columns) {
  Json list = Json::array();
  for (const ColumnReport& column : columns) {
    list.push_back({{"status", to_string(column.status)},
                    {"iterations", column.iterations},
                    {"relative_residual", column.relative_residual},
                    {"backward_error", column.backward_error},
                    {"error_estimate", or_null(column.error_estimate)},
                    {"normal_residual", or_null(column.normal_residual)}});
  }
  return list;
}

Json attempts_json(const std::vector<Attempt>& attempts) {
  Json list = Json::array();
  for (const Attempt& attempt : attempts) {
    list.push_back({{"method", name_of(attempt.method)},
                    {"description", attempt.method},
                    {"status", to_string(attempt.status)},
                    {"message", attempt.message},
                    {"seconds", attempt.seconds}});
  }
  return list;
}

Json certificate_json(const ErrorCertificate& certificate) {
  return {{"proof", to_string(certificate.proof)},
          {"reason", certificate.reason},
          {"error_bound", if_finite(certificate.error_bound)},
          {"relative_error_bound", if_finite(certificate.relative_error_bound)},
          {"smallest_eigenvalue", or_null(certificate.smallest_eigenvalue)}};
}

Json report_json(const Report& report) {
  return {{"status", to_string(report.status)},
          {"status_code", static_cast<int>(report.status)},
          {"solved", report.solved()},
          {"method", name_of(report.method)},
          {"description", report.method},
          {"device", report.device.name()},
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
          {"normal_residual", or_null(report.normal_residual)},
          {"reciprocal_condition", or_null(report.reciprocal_condition)},
          {"condition_kind", to_string(report.condition_kind)},
          {"preconditioned_condition", or_null(report.preconditioned_condition)},
          {"error_estimate", or_null(report.error_estimate)},
          {"expected_digits", or_null(report.expected_digits())},
          {"certificate", report.certificate ? certificate_json(*report.certificate) : Json(nullptr)},
          {"rank", or_null(report.rank)},
          {"certainty", to_string(report.certainty)},
          {"factor_precision", factor_precision_json(report.factor_precision)},
          {"statistics", statistics_json(report)},
          {"choosing_seconds", report.choosing_seconds},
          {"analysis_seconds", report.analysis_seconds},
          {"setup_seconds", report.setup_seconds},
          {"solve_seconds", report.solve_seconds},
          {"transfer_seconds", report.transfer_seconds},
          {"bytes", report.bytes},
          {"attempts", attempts_json(report.attempts)},
          {"columns", columns_json(report.columns)},
          {"history", report.history},
          {"history_seconds", report.history_seconds}};
}

}  // namespace

std::string to_json(const Report& report) {
  return at_api_boundary([&] { return one_line(report_json(report)); });
}

std::string to_json(const ErrorCertificate& certificate) {
  return at_api_boundary([&] { return one_line(certificate_json(certificate)); });
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "solver/column_report.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>
#include <vector>

namespace echelon {

namespace {

int severity(Status status) {
  if (status == Status::underdetermined || status == Status::least_squares) return 1;
  if (solved(status)) return 0;
  return status == Status::not_a_number ? 3 : 2;
}

bool is_worse(const ColumnReport& column, const Report& report) {
  const int difference = severity(column.status) - severity(report.status);
  return difference > 0 || (difference == 0 && column.backward_error > report.backward_error);
}

/// Copies statistics. The copy constructor of std::variant in libstdc++ 12 frees what it has not allocated
/// when memory does not suffice for the string or vector that it copies: these are copied before, and moved.
std::vector<Statistic> copy_of(const std::vector<Statistic>& statistics) {
  std::vector<Statistic> copies;
  copies.reserve(statistics.size());
  for (const Statistic& statistic : statistics) {
    std::visit(
        [&](const auto& value) {
          auto copy = value;
          copies.push_back({statistic.name, std::move(copy)});
        },
        statistic.value);
  }
  return copies;
}

}  // namespace

Report outcome_report(const Outcome& outcome, std::string method, const Device& device) {
  Report report;
  report.status = outcome.status;
  report.message = outcome.message;
  report.row = outcome.row;
  report.reciprocal_condition = outcome.reciprocal_condition;
  if (outcome.reciprocal_condition) report.condition_kind = ConditionKind::factored;
  report.rank = outcome.rank;
  report.row_of_unknown = outcome.row_of_unknown;
  report.certainty = outcome.certainty;
  report.warnings = outcome.warnings;
  report.statistics = copy_of(outcome.statistics);
  report.method = std::move(method);
  report.device = device;
  return report;
}

ColumnReport measured_column(const VectorFacts& b, const VectorFacts& x, const VectorFacts& r,
                             double matrix_norm_inf) {
  const double scale = matrix_norm_inf * x.norm_inf + b.norm_inf;
  return {.relative_residual = b.norm2 > 0 ? r.norm2 / b.norm2 : r.norm2,
          .backward_error = scale > 0 ? r.norm_inf / scale : r.norm_inf};
}

bool add_column(ColumnReport column, double residual_norm, const Outcome& outcome, Report& report) {
  column.status = outcome.status;
  const bool worst = report.columns.empty() || is_worse(column, report);
  report.columns.push_back(column);
  report.iterations = std::max(report.iterations, column.iterations);
  if (!worst) return false;
  report.status = column.status;
  report.message = outcome.message;
  report.row = outcome.row;
  if (outcome.rank) report.rank = outcome.rank;
  report.certainty = outcome.certainty;
  report.residual_norm = residual_norm;
  report.relative_residual = column.relative_residual;
  report.backward_error = column.backward_error;
  report.error_estimate = column.error_estimate;
  report.normal_residual = column.normal_residual;
  return true;
}

}  // namespace echelon

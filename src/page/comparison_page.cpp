// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "report/json.hpp"
#include "support/text.hpp"

#include <echelon/page/comparison.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>

namespace echelon {

namespace {

std::string duration_or_none(const std::optional<double>& seconds) {
  return seconds ? duration(*seconds) : "-";
}

std::string number_or_none(const std::optional<double>& value) {
  return value ? fmt::format("{:.1e}", *value) : "-";
}

std::vector<std::string> cells_of(const MethodResult& result) {
  return {result.method,
          result.device,
          duration_or_none(result.setup_seconds),
          duration_or_none(result.update_seconds),
          duration_or_none(result.solve_seconds),
          result.iterations ? grouped(*result.iterations) : "-",
          number_or_none(result.relative_residual),
          number_or_none(result.backward_error),
          result.expected_digits ? grouped(*result.expected_digits) : "-",
          result.bytes ? byte_count(*result.bytes) : "-",
          duration_or_none(result.total(1)),
          duration_or_none(result.total(10)),
          duration_or_none(result.total(100))};
}

std::string columns_text(int columns) {
  return columns == 1 ? "1 right-hand side" : fmt::format("{} right-hand sides", columns);
}

/// "sparse-lu on openmp, 12.3 ms"; empty if no method reached the tolerance.
std::string best_text(const Comparison& comparison, int columns) {
  const MethodResult* const best = comparison.best(columns);
  return best == nullptr
             ? ""
             : fmt::format("{} on {}, {}", best->method, best->device, duration(*best->total(columns)));
}

std::string failure_text(const MethodResult& result) {
  return result.message.empty() ? result.status : fmt::format("{}: {}", result.status, result.message);
}

std::string limits_text(const Comparison& comparison) {
  std::string text = fmt::format("{} for each method", duration(comparison.limit_seconds));
  if (comparison.limit_bytes > 0) text += fmt::format(", {} of memory", byte_count(comparison.limit_bytes));
  return text;
}

/// Rows whose labels begin with one of the words.
std::vector<ReportRow> rows_that_begin(const std::vector<ReportRow>& rows,
                                       std::initializer_list<std::string_view> words) {
  std::vector<ReportRow> found;
  std::ranges::copy_if(rows, std::back_inserter(found), [&](const ReportRow& row) {
    return std::ranges::any_of(words, [&](std::string_view word) { return row.label.starts_with(word); });
  });
  return found;
}

Json comparison_json(const Comparison& comparison) {
  Json results = Json::array();
  for (const MethodResult& result : comparison.results) {
    results.push_back({{"method", result.method},
                       {"device", result.device},
                       {"reason", result.reason},
                       {"status", result.status},
                       {"message", result.message},
                       {"reached", result.reached},
                       {"setup_seconds", or_null(result.setup_seconds)},
                       {"update_seconds", or_null(result.update_seconds)},
                       {"solve_seconds", or_null(result.solve_seconds)},
                       {"solve_10_seconds", or_null(result.solve_10_seconds)},
                       {"iterations", or_null(result.iterations)},
                       {"relative_residual", or_null(result.relative_residual)},
                       {"backward_error", or_null(result.backward_error)},
                       {"expected_digits", or_null(result.expected_digits)},
                       {"bytes", or_null(result.bytes)},
                       {"peak_bytes", result.peak_bytes},
                       {"total_1_seconds", or_null(result.total(1))},
                       {"total_10_seconds", or_null(result.total(10))},
                       {"total_100_seconds", or_null(result.total(100))}});
  }
  Json best = Json::object();
  for (const int columns : compared_columns) {
    const MethodResult* const found = comparison.best(columns);
    best[std::to_string(columns)] =
        found == nullptr ? Json(nullptr) : Json{{"method", found->method}, {"device", found->device}};
  }
  return {{"matrix", comparison.matrix},
          {"right_hand_side", comparison.right_hand_side},
          {"tolerance", comparison.tolerance},
          {"limit_seconds", comparison.limit_seconds},
          {"limit_bytes", comparison.limit_bytes > 0 ? Json(comparison.limit_bytes) : Json(nullptr)},
          {"best", best},
          {"results", results}};
}

void add_totals(Page& page, const Comparison& comparison) {
  for (const int columns : compared_columns) {
    std::vector<PageBar> bars;
    for (const MethodResult& result : comparison.results) {
      if (const std::optional<double> total = result.total(columns))
        bars.push_back({fmt::format("{} on {}", result.method, result.device), *total, duration(*total)});
    }
    std::sort(bars.begin(), bars.end(), [](const PageBar& a, const PageBar& b) { return a.value < b.value; });
    page.bars("Total time for " + columns_text(columns), bars);
  }
}

void add_failures(Page& page, const Comparison& comparison) {
  PageTable failed{.caption = "Methods that did not reach the tolerance",
                   .columns = {"method", "device", "reason"},
                   .rows = {},
                   .text_columns = 3};
  for (const MethodResult& result : comparison.results) {
    if (!result.reached) failed.rows.push_back({result.method, result.device, failure_text(result)});
  }
  if (failed.rows.empty()) return;
  page.section("Failures");
  page.table(failed);
}

}  // namespace

std::optional<double> MethodResult::total(int columns) const {
  const std::optional<double>& solves = columns == 1 ? solve_seconds : solve_10_seconds;
  if (!reached || !setup_seconds || !solves) return std::nullopt;
  return *setup_seconds + *solves * std::max(1, columns / 10);
}

const MethodResult* Comparison::best(int columns) const {
  const MethodResult* found = nullptr;
  for (const MethodResult& result : results) {
    const std::optional<double> total = result.total(columns);
    if (total && (found == nullptr || *total < *found->total(columns))) found = &result;
  }
  return found;
}

std::vector<ReportRow> comparison_rows(const Comparison& comparison) {
  const std::string fastest = best_text(comparison, 1);
  std::vector<ReportRow> rows;
  rows.push_back(fastest.empty()
                     ? ReportRow{.label = "No method",
                                 .value = "reached the tolerance within the limits",
                                 .severity = Severity::failure}
                     : ReportRow{.label = "Fastest", .value = fastest, .severity = Severity::good});
  rows.push_back({.label = "matrix", .value = comparison.matrix});
  rows.push_back({.label = "right-hand side", .value = comparison.right_hand_side});
  rows.push_back({.label = "tolerance", .value = short_number(comparison.tolerance)});
  rows.push_back({.label = "limits", .value = limits_text(comparison)});
  for (const int columns : compared_columns) {
    const std::string best = best_text(comparison, columns);
    if (!best.empty()) rows.push_back({.label = "best for " + columns_text(columns), .value = best});
  }
  for (const MethodResult& result : comparison.results) {
    if (!result.reached)
      rows.push_back(
          {.label = "failed",
           .value = fmt::format("{} on {}: {}", result.method, result.device, failure_text(result)),
           .severity = Severity::warning});
  }
  return rows;
}

PageTable measurements_of(const Comparison& comparison) {
  PageTable table{.caption = "Each method in a process of its own",
                  .columns = {"method", "device", "set-up", "update", "solve", "iterations", "residual",
                              "backward", "digits", "memory", "total for 1", "for 10", "for 100"},
                  .rows = {},
                  .text_columns = 2};
  for (const MethodResult& result : comparison.results) table.rows.push_back(cells_of(result));
  return table;
}

std::string to_json(const Comparison& comparison) {
  return at_api_boundary([&] { return one_line(comparison_json(comparison)); });
}

std::string to_html(const Comparison& comparison, const std::optional<MatrixPortrait>& matrix,
                    const std::string& command) {
  return at_api_boundary([&] {
    const std::vector<ReportRow> rows = comparison_rows(comparison);
    Page page(comparison.matrix, "A x = b, methods compared by Echelon");
    page.outcome(rows.front());
    page.figures(rows_that_begin(rows, {"best for"}));
    page.section("Measurements");
    page.facts(rows_that_begin(rows, {"right-hand side", "tolerance", "limits"}));
    page.table(measurements_of(comparison));
    page.paragraph(
        "The total is the set-up and the solves; 10 right-hand sides are solved together, and 100 count as "
        "ten "
        "times 10. The memory is that of the solver.");
    add_totals(page, comparison);
    add_failures(page, comparison);
    if (matrix) add_matrix(page, *matrix);
    page.section("To repeat it");
    if (!command.empty()) page.code(command);
    page.data(one_line(comparison_json(comparison)));
    return page.html();
  });
}

}  // namespace echelon

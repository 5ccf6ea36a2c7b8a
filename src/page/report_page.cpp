// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "page/layouts.hpp"
#include "report/names.hpp"
#include "support/text.hpp"

#include <echelon/page/report_page.hpp>
#include <echelon/solver/report_json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace echelon {

namespace {

/// Rows with one of the labels, in the order of the report.
std::vector<ReportRow> rows_labelled(const std::vector<ReportRow>& rows,
                                     std::initializer_list<std::string_view> labels) {
  std::vector<ReportRow> found;
  std::ranges::copy_if(rows, std::back_inserter(found), [&](const ReportRow& row) {
    return std::ranges::find(labels, row.label) != labels.end();
  });
  return found;
}

/// The outcome, how good x is, and doubts.
void add_answer(Page& page, const std::vector<ReportRow>& rows) {
  page.outcome(rows.front());
  for (const ReportRow& row : rows_labelled(rows, {"warning"})) page.outcome(row);
  page.facts(rows_labelled(rows, {"because"}));
  page.figures(rows_labelled(rows, {"accuracy", "relative residual", "backward error", "condition"}));
}

void add_method(Page& page, const Report& report, const std::vector<ReportRow>& rows) {
  page.section("Method");
  page.facts(rows_labelled(rows, {"method", "device", "factor precision"}));
  if (report.attempts.empty()) return;
  PageTable table{.caption = "Methods that were tried before",
                  .columns = {"method", "outcome", "reason", "time"},
                  .rows = {},
                  .text_columns = 3};
  for (const Attempt& attempt : report.attempts) {
    table.rows.push_back(
        {attempt.method, std::string(to_string(attempt.status)), attempt.message, duration(attempt.seconds)});
  }
  page.table(table);
}

void add_convergence(Page& page, const Report& report) {
  page.section("Convergence");
  if (report.history.empty()) {
    page.paragraph(report.iterations > 0
                       ? "The method gave no history of its residuals."
                       : "There is no history: the method is direct, or made no iterations.");
    return;
  }
  const double last = report.history.back();
  page.picture(
      draw_history(report, {.title = "Relative residual after each iteration", .caption = {}},
                   history_on_page),
      fmt::format("Relative residual after 0 to {} iterations, on a logarithmic axis: from {} to {} as the "
                  "iteration computes it, {} measured at the end.",
                  grouped(std::ssize(report.history) - 1), short_number(report.history.front()),
                  short_number(last), short_number(report.relative_residual)));
}

const std::vector<std::int64_t>* list_of_statistic(const Report& report, const std::string& name) {
  const Statistic* const statistic = report.find_statistic(name);
  return statistic == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(&statistic->value);
}

/// The levels by the statistics of a method, or of its preconditioner; no levels if it has none.
HierarchyDescription reported_hierarchy(const Report& report) {
  HierarchyDescription description;
  for (const std::string prefix : {"", "preconditioner."}) {
    const auto* const rows = list_of_statistic(report, prefix + "level_rows");
    const auto* const nonzeros = list_of_statistic(report, prefix + "level_nonzeros");
    const auto* const bytes = list_of_statistic(report, prefix + "level_bytes");
    if (rows == nullptr || nonzeros == nullptr || bytes == nullptr) continue;
    for (std::size_t l = 0; l < std::min({rows->size(), nonzeros->size(), bytes->size()}); ++l) {
      LevelDescription level;
      level.rows = (*rows)[l];
      level.nonzeros = (*nonzeros)[l];
      level.bytes = static_cast<std::size_t>((*bytes)[l]);
      description.levels.push_back(std::move(level));
    }
    const auto read = [&](const std::string& name, auto& value) {
      const Statistic* const statistic = report.find_statistic(prefix + name);
      if (statistic == nullptr) return;
      if (const auto* const held = std::get_if<std::decay_t<decltype(value)>>(&statistic->value))
        value = *held;
    };
    read("coarsening", description.coarsening);
    read("coarsening_reason", description.coarsening_reason);
    read("operator_complexity", description.operator_complexity);
    read("grid_complexity", description.grid_complexity);
    read("end_of_coarsening", description.end);
    return description;
  }
  return description;
}

/// The map of an elimination: the row of each unknown as text for a few, and as a pattern.
void add_map(Page& page, const std::vector<std::int64_t>& row_of_unknown) {
  constexpr std::size_t most_listed = 24;
  std::vector<Triplet<double>> elements;
  std::int64_t rows = 0;
  std::vector<ReportRow> listed;
  for (std::size_t unknown = 0; unknown < row_of_unknown.size(); ++unknown) {
    const std::int64_t row = row_of_unknown[unknown];
    rows = std::max(rows, row + 1);
    if (row >= 0) elements.push_back({static_cast<std::int32_t>(row), static_cast<std::int32_t>(unknown), 1});
    listed.push_back({.label = fmt::format("unknown {}", grouped(static_cast<std::int64_t>(unknown))),
                      .value = row < 0 ? "free" : "row " + grouped(row)});
  }
  page.section("Map");
  page.paragraph(fmt::format("The row that eliminates each unknown: {} of {} unknowns have one, {} free.",
                             grouped(std::ssize(elements)), grouped(std::ssize(row_of_unknown)),
                             grouped(std::ssize(row_of_unknown) - std::ssize(elements))));
  if (row_of_unknown.size() <= most_listed) page.facts(listed);
  if (elements.empty()) return;
  const auto map = Csr<double>::from_triplets(rows, std::ssize(row_of_unknown), elements);
  page.picture(draw_spy("Map", MatrixRef<double>(map), spy_on_page),
               "The map as a pattern: column j, of unknown j, has a mark in the row that eliminates it.");
}

void add_statistics(Page& page, const Report& report) {
  if (report.statistics.empty()) return;
  page.section("Statistics");
  std::vector<ReportRow> rows;
  for (const Statistic& statistic : report.statistics)
    rows.push_back(
        {.label = statistic.name, .value = to_string(statistic).substr(statistic.name.size() + 1)});
  page.facts(rows);
}

void add_costs(Page& page, const Report& report, const PageDetails& details) {
  double attempts = 0;
  for (const Attempt& attempt : report.attempts) attempts += attempt.seconds;
  page.section("Time and memory");
  std::vector<PageBar> times = details.times;
  for (const auto& [label, seconds] :
       {std::pair("choosing the method", report.choosing_seconds), std::pair("failed attempts", attempts),
        std::pair("analysis", report.analysis_seconds), std::pair("set-up", report.setup_seconds),
        std::pair("solve", report.solve_seconds), std::pair("transfer", report.transfer_seconds)}) {
    if (seconds > 0) times.push_back({label, seconds, {}});
  }
  for (PageBar& bar : times) bar.text = duration(bar.value);
  page.bars("Time", times);
  std::vector<PageBar> memory = details.memory;
  memory.push_back({"solver", static_cast<double>(report.bytes), {}});
  for (PageBar& bar : memory) bar.text = byte_count(static_cast<std::size_t>(bar.value));
  page.bars("Memory", memory);
}

void add_certificate(Page& page, const ErrorCertificate& certificate) {
  page.section("Certificate");
  if (!certificate.proven()) {
    page.outcome({"No bound", "on the error was proven.", certificate.reason, Severity::warning});
    return;
  }
  page.outcome({"Proven", "bound on the error of x, with all rounding errors accounted for.",
                certificate.reason, Severity::good});
  std::vector<ReportRow> rows = {
      {.label = "max |x_i - x*_i|", .value = fmt::format("at most {:.3e}", certificate.error_bound)},
      {.label = "relative to max |x*_i|",
       .value = fmt::format("at most {:.3e}", certificate.relative_error_bound)},
      {.label = "proof", .value = std::string(to_string(certificate.proof))}};
  if (certificate.smallest_eigenvalue)
    rows.push_back({.label = "smallest eigenvalue",
                    .value = fmt::format("at least {:.3e}", *certificate.smallest_eigenvalue)});
  page.facts(rows);
}

void add_columns(Page& page, const Report& report) {
  if (report.columns.size() < 2) return;
  page.section("Right-hand sides");
  PageTable table{.caption = "Each right-hand side",
                  .columns = {"right-hand side", "outcome", "iterations", "relative residual",
                              "backward error", "estimated error"},
                  .rows = {},
                  .text_columns = 2};
  for (std::size_t j = 0; j < report.columns.size(); ++j) {
    const ColumnReport& column = report.columns[j];
    table.rows.push_back({fmt::format("{}", j), std::string(to_string(column.status)),
                          grouped(column.iterations), fmt::format("{:.2e}", column.relative_residual),
                          fmt::format("{:.2e}", column.backward_error),
                          column.error_estimate ? fmt::format("{:.1e}", *column.error_estimate) : "unknown"});
  }
  page.table(table);
}

/// The command by the method's description, "cg (preconditioner=jacobi, ...)", for files A.mtx and b.mtx.
std::string command_of(const Report& report) {
  std::vector<std::string> words = {"echelon",
                                    "solve",
                                    "A.mtx",
                                    "--rhs",
                                    "b.mtx",
                                    "--method",
                                    std::string(name_of(report.method)),
                                    "--device",
                                    report.device.name()};
  std::string_view options = report.method;
  options.remove_prefix(std::min(options.size(), options.find('(')));
  while (!options.empty()) {
    options.remove_prefix(std::min(options.size(), options.find_first_not_of("(, )")));
    const std::string_view option = options.substr(0, options.find_first_of(",)"));
    if (option.find('=') != std::string_view::npos) {
      words.emplace_back("-p");
      words.emplace_back(option);
    }
    options.remove_prefix(option.size());
  }
  return shell_command(words);
}

void add_repetition(Page& page, const Report& report, const PageDetails& details) {
  page.section("To repeat it");
  page.code(details.command.empty() ? command_of(report) : details.command);
  page.data(details.json.empty() ? to_json(report) : details.json);
}

}  // namespace

std::string to_html(const Report& report, const PageDetails& details) {
  return at_api_boundary([&] {
    const std::vector<ReportRow> rows = report_rows(report);
    Page page(details.title.empty() ? name_of(report.method) : details.title, "A x = b, solved by Echelon");
    add_answer(page, rows);
    if (details.matrix) {
      add_matrix(page, *details.matrix, details.system);
    } else if (!details.system.empty()) {
      page.section("System");
      page.facts(details.system);
    }
    add_method(page, report, rows);
    add_convergence(page, report);
    const HierarchyDescription hierarchy = details.hierarchy.value_or(reported_hierarchy(report));
    if (!hierarchy.levels.empty()) add_hierarchy(page, hierarchy);
    if (details.factor) add_factor(page, *details.factor);
    if (report.row_of_unknown != nullptr) add_map(page, *report.row_of_unknown);
    add_costs(page, report, details);
    if (report.certificate != nullptr) add_certificate(page, *report.certificate);
    add_columns(page, report);
    add_statistics(page, report);
    add_repetition(page, report, details);
    return page.html();
  });
}

}  // namespace echelon

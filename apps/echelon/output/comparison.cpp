// SPDX-License-Identifier: BSD-3-Clause
#include "output/comparison.hpp"

#include "terminal/terminal.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace echelon::tool {

std::string comparison_text(const Comparison& comparison) {
  const std::vector<ReportRow> found = comparison_rows(comparison);
  const bool failed = found.front().severity == Severity::failure;
  std::string headline = fmt::format(
      "{} {}\n",
      paint(found.front().label + (failed ? "" : ":"), failed ? Colour::red : Colour::green, report_stream()),
      found.front().value);
  std::vector<Row> rows;
  for (auto row = found.begin() + 1; row != found.end(); ++row) rows.emplace_back(row->label, row->value);
  PageTable measured = measurements_of(comparison);
  measured.rows.insert(measured.rows.begin(), std::move(measured.columns));
  return headline + aligned(rows) + "\n" + table(measured.rows);
}

}  // namespace echelon::tool

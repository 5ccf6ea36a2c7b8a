// SPDX-License-Identifier: BSD-3-Clause
/// Writes a page in HTML from lines of fields separated by tabs, for scripts/reproduce:
///   title TITLE SUBTITLE | section HEADING | paragraph TEXT | code TEXT | table FILE.csv CAPTION |
///   plot FILE.csv FILE.svg TITLE X Y, which draws the numbers of the table over its first column.
#include "support/arguments.hpp"
#include "support/log_plot.hpp"

#include <echelon/page/page.hpp>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace ec = echelon;

/// Cells of a CSV file without quotation marks; the first row has the names.
std::vector<std::vector<std::string>> read_csv(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) rows.push_back(ec::bench::split(line, ','));
  return rows;
}

double number(const std::string& text) {
  double value = std::numeric_limits<double>::quiet_NaN();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && (end == text.data() + text.size() || *end == ' ')
             ? value
             : std::numeric_limits<double>::quiet_NaN();
}

/// The columns with at least two positive numbers as curves over the first one; empty if there is none.
std::string plot_svg(const std::vector<std::vector<std::string>>& rows,
                     const std::vector<std::string>& fields) {
  ec::bench::Panel panel{fields[3], {}, {}};
  for (std::size_t i = 1; i < rows.size(); ++i) panel.x.push_back(number(rows[i].at(0)));
  for (std::size_t j = 1; j < rows.front().size(); ++j) {
    ec::bench::Curve curve{rows.front()[j], {}};
    int positive = 0;
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const double value = number(rows[i].at(j));
      curve.values.push_back(value > 0 ? value : std::numeric_limits<double>::quiet_NaN());
      if (value > 0) ++positive;
    }
    if (positive > 1) panel.curves.push_back(std::move(curve));
  }
  if (panel.curves.empty()) return {};
  ec::bench::LogPlot plot(fields[3], fields[4], fields[5]);
  plot.add(std::move(panel));
  return plot.svg();
}

void add_plot(ec::Page& page, const std::vector<std::string>& fields) {
  const std::string svg = plot_svg(read_csv(fields.at(1)), fields);
  if (svg.empty()) return;
  std::ofstream(fields.at(2)) << svg;
  page.picture(svg, fields.at(3));
}

void add_table(ec::Page& page, const std::vector<std::string>& fields) {
  std::vector<std::vector<std::string>> rows = read_csv(fields.at(1));
  if (rows.empty()) return;
  ec::PageTable table{.caption = fields.at(2), .columns = rows.front(), .rows = {}};
  table.rows.assign(rows.begin() + 1, rows.end());
  page.table(table);
}

void add_part(ec::Page& page, const std::vector<std::string>& fields) {
  const std::string& kind = fields.front();
  if (kind == "section") page.section(fields.at(1));
  if (kind == "paragraph") page.paragraph(fields.at(1));
  if (kind == "code") page.code(fields.at(1));
  if (kind == "table") add_table(page, fields);
  if (kind == "plot") add_plot(page, fields);
}

}  // namespace

int main(int argc, char** argv) {
  ec::bench::Arguments arguments(argc, argv, "< DESCRIPTION > PAGE.html");
  arguments.finish();
  std::string line;
  std::getline(std::cin, line);
  const std::vector<std::string> title = ec::bench::split(line, '\t');
  ec::Page page(title.at(1), title.at(2));
  while (std::getline(std::cin, line)) add_part(page, ec::bench::split(line, '\t'));
  std::fputs(page.html().c_str(), stdout);
}

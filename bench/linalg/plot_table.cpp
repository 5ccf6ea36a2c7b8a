// SPDX-License-Identifier: BSD-3-Clause
// Draws tables in Markdown, as the benchmarks print them, as curves on logarithmic axes.
//   bench_plot_table WORD CURVES TITLE X Y < TABLES > PICTURE.svg
// Every table below a heading that contains WORD is a panel: its first column is the abscissa, the next
// CURVES columns are ordinates. Entries that are not numbers are left out.
#include "support/arguments.hpp"
#include "support/log_plot.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> result;
  std::istringstream text(line.substr(1));
  for (std::string cell; std::getline(text, cell, '|');) {
    const std::size_t begin = cell.find_first_not_of(' ');
    if (begin != std::string::npos) {
      result.push_back(cell.substr(begin, cell.find_last_not_of(' ') - begin + 1));
    }
  }
  return result;
}

double number(const std::string& cell) {
  char* end = nullptr;
  const double value = std::strtod(cell.c_str(), &end);
  return end == cell.c_str() ? std::numeric_limits<double>::quiet_NaN() : value;
}

/// The header names a panel's curves, the rows below it are their points.
void add_line(const std::vector<std::string>& row, std::size_t curves, echelon::bench::Panel& panel) {
  if (row.size() <= curves || row[0].starts_with("---")) return;
  if (panel.curves.empty()) {
    for (std::size_t c = 1; c <= curves; ++c) panel.curves.push_back({row[c], {}});
    return;
  }
  panel.x.push_back(number(row[0]));
  for (std::size_t c = 0; c < curves; ++c) panel.curves[c].values.push_back(number(row[c + 1]));
}

}  // namespace

int main(int argc, char** argv) {
  echelon::bench::Arguments arguments(argc, argv, "WORD CURVES TITLE X Y < TABLES > PICTURE.svg");
  const auto word = arguments.positional("WORD", std::string());
  const auto curves = arguments.positional("CURVES", std::size_t{0});
  const std::vector<std::string> labels = arguments.positionals("TITLE, X or Y");
  if (labels.size() != 3) arguments.refuse("5 arguments are needed");
  std::vector<echelon::bench::Panel> panels;
  bool wanted = false;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.starts_with('#')) {
      wanted = line.find(word) != std::string::npos;
      if (wanted) panels.push_back({line.substr(line.find_first_not_of("# ")), {}, {}});
    } else if (wanted && line.starts_with('|')) {
      add_line(cells(line), curves, panels.back());
    }
  }
  echelon::bench::LogPlot plot(labels[0], labels[1], labels[2]);
  for (echelon::bench::Panel& panel : panels) plot.add(std::move(panel));
  if (panels.empty()) {
    fmt::print(stderr, "no heading with '{}'\n", word);
    return 3;
  }
  std::cout << plot.svg();
}

// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace echelon::tool {

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  std::string result;
  while (text.size() > width) {
    std::size_t blank = text.rfind(' ', width);
    if (blank == std::string_view::npos || blank == 0) blank = text.find(' ', width);
    if (blank == std::string_view::npos) break;
    result.append(text.substr(0, blank)).append("\n").append(indent, ' ');
    text.remove_prefix(blank + 1);
  }
  return result.append(text);
}

std::string short_number(double value) {
  return fmt::format("{:.3g}", value);
}

std::string counted(std::int64_t count, std::string_view noun, std::string_view plural) {
  if (count == 1) return fmt::format("1 {}", noun);
  return plural.empty() ? fmt::format("{} {}s", grouped(count), noun)
                        : fmt::format("{} {}", grouped(count), plural);
}

std::string byte_count(std::size_t bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units.at(unit));
}

std::string aligned(const std::vector<Row>& rows) {
  std::size_t width = 0;
  for (const auto& [label, text] : rows) width = std::max(width, label.size());
  const std::size_t indent = width + 4;
  std::string result;
  for (const auto& [label, text] : rows) {
    fmt::format_to(std::back_inserter(result), "  {:<{}}  {}\n", label, width,
                   wrapped(text, line_width - indent, indent));
  }
  return result;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], row[j].size());
  }
  std::string result;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t j = 0; j < row.size(); ++j) line += fmt::format("{:<{}}", row[j], widths[j] + 2);
    result.append(line.substr(0, line.find_last_not_of(' ') + 1)).append("\n");
  }
  return result;
}

}  // namespace echelon::tool

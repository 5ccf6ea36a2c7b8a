// SPDX-License-Identifier: BSD-3-Clause
#include "arguments/text_columns.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>
#include <vector>

namespace echelon::tool {

namespace {

constexpr std::string_view separators = " \t,;\r";

/// Removes and returns the first line, without its newline.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

bool has_data(std::string_view line) {
  const std::size_t first = line.find_first_not_of(separators);
  return first != std::string_view::npos && line[first] != '#' && line[first] != '%';
}

/// Appends the numbers of a line. Returns the position of the first word that is not a finite number, or
/// `npos` if there is none.
template <class T>
std::size_t parse_line(std::string_view line, std::vector<T>& numbers) {
  std::size_t begin = line.find_first_not_of(separators);
  while (begin != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(separators, begin), line.size());
    const std::size_t sign = line[begin] == '+' ? 1 : 0;  // from_chars takes no plus sign
    T value{};
    const auto [stop, error] = std::from_chars(line.data() + begin + sign, line.data() + end, value);
    if (error != std::errc() || stop != line.data() + end || !std::isfinite(value)) return begin;
    numbers.push_back(value);
    begin = line.find_first_not_of(separators, end);
  }
  return std::string_view::npos;
}

bool is_matrix_market(std::string_view text) {
  constexpr std::string_view banner = "%%matrixmarket";
  return text.size() >= banner.size() &&
         std::equal(banner.begin(), banner.end(), text.begin(),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

}  // namespace

bool is_text_of_columns(std::string_view text) {
  if (is_matrix_market(text)) return false;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!has_data(line)) continue;
    std::vector<double> numbers;
    return parse_line(line, numbers) == std::string_view::npos;
  }
  return false;
}

template <class T>
Dense<T> parse_text_columns(std::string_view text, const std::string& file) {
  std::vector<T> numbers;  // by rows
  std::int64_t rows = 0;
  std::size_t columns = 0;
  for (std::int64_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (!has_data(line)) continue;
    const std::size_t before = numbers.size();
    const std::size_t bad = parse_line(line, numbers);
    if (bad != std::string_view::npos) {
      throw ParseError(file, number, static_cast<std::int64_t>(bad) + 1, "a finite number is expected here");
    }
    const std::size_t found = numbers.size() - before;
    if (rows == 0) columns = found;
    if (found != columns) {
      throw ParseError(file, number, 1, fmt::format("{} numbers; the lines above have {}", found, columns));
    }
    ++rows;
  }
  Dense<T> result(Device(), rows, static_cast<std::int64_t>(columns));
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < result.columns(); ++j) {
      result(i, j) = numbers[static_cast<std::size_t>(i * result.columns() + j)];
    }
  }
  return result;
}

template Dense<float> parse_text_columns(std::string_view, const std::string&);
template Dense<double> parse_text_columns(std::string_view, const std::string&);

}  // namespace echelon::tool

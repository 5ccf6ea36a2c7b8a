// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/terminal.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

namespace echelon::tool {

namespace {

constexpr std::size_t line_width = 100;

std::string_view escape(Colour colour) {
  switch (colour) {
    case Colour::red:
      return "\033[1;31m";
    case Colour::green:
      return "\033[1;32m";
    case Colour::yellow:
      return "\033[33m";
    case Colour::bold:
      return "\033[1m";
    case Colour::faint:
      return "\033[2m";
    case Colour::none:
      break;
  }
  return "";
}

bool wants_colour(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused = no_color != nullptr && *no_color != '\0';
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  return is_terminal(stream) && !refused && !dumb;
}

/// `text` broken at blanks into lines of at most `width`, those after the first indented.
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

}  // namespace

bool is_terminal(std::FILE* stream) {
  return isatty(fileno(stream)) != 0;
}

std::string paint(std::string_view text, Colour colour, std::FILE* stream) {
  if (colour == Colour::none || !wants_colour(stream)) return std::string(text);
  return fmt::format("{}{}\033[0m", escape(colour), text);
}

void print_result(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    throw ParseError("standard output", 0, 0, "cannot be written");
  }
}

void print_aside(std::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
  static_cast<void>(std::fflush(stderr));
}

void print_note(std::string_view text) {
  print_aside(fmt::format("echelon: note: {}\n", text));
}

std::size_t terminal_width() {
  winsize size = {};
  const bool known = ioctl(fileno(stderr), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  const std::ptrdiff_t first = number < 0 ? 1 : 0;
  for (auto i = std::ssize(digits) - 3; i > first; i -= 3) digits.insert(static_cast<std::size_t>(i), 1, ',');
  return digits;
}

std::string duration(double seconds) {
  if (seconds < 0.9995e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 0.9995) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 59.995) return fmt::format("{:.2f} s", seconds);
  const auto whole = std::llround(seconds);
  return fmt::format("{} min {} s", whole / 60, whole % 60);
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

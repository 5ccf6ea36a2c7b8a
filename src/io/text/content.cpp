// SPDX-License-Identifier: BSD-3-Clause
#include "io/text/content.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace echelon::io {

namespace {

bool is_whole(std::string_view field) {
  return !field.empty() &&
         std::all_of(field.begin(), field.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_number(std::string_view field) {
  const char* at = field.data();
  try {
    static_cast<void>(parse_real<double>(at, at + field.size()));
    return true;
  } catch (const Fault&) {
    return false;
  }
}

/// Whether a comment is one that SNAP, KONECT or write_edge_list writes.
bool announces_graph(std::string_view comment) {
  constexpr std::array<std::string_view, 6> words = {
      "fromnodeid", "directed graph", "nodes:", "% sym", "% asym", "% bip"};
  const std::string text = lower_case(comment);
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

/// Whether the first row could be the header of a METIS graph or of a list of elements: two to four whole
/// numbers.
bool may_be_sizes(const std::vector<std::string_view>& row) {
  return row.size() >= 2 && row.size() <= 4 && std::all_of(row.begin(), row.end(), is_whole);
}

/// Whether the first row could be the size of a square matrix, or that of a METIS graph or a matrix with a
/// zero after it.
bool may_be_header(const std::vector<std::string_view>& row) {
  return row[0] == row[1] || (row.size() == 3 && row[2].find_first_not_of('0') == std::string_view::npos);
}

}  // namespace

std::vector<std::string_view> fields_of_line(std::string_view line) {
  std::vector<std::string_view> fields;
  const char* const end = line.data() + line.size();
  for (const char* at = skip_blanks(line.data(), end); at != end; at = skip_separator(at, end)) {
    const char* const stop = field_end(at, end);
    fields.emplace_back(at, static_cast<std::size_t>(stop - at));
    at = stop;
  }
  return fields;
}

bool is_table_header(std::string_view field) {
  if (field.empty()) return false;
  const auto first = static_cast<unsigned char>(field.front());
  if (first == '"' || first == '\'') return true;
  double value = 0;
  const char* const end = field.data() + field.size();
  return std::isalpha(first) != 0 && std::from_chars(field.data(), end, value).ptr != end;
}

TextContent text_content(std::string_view lines) {
  std::vector<std::string_view> first;
  bool graph = false;
  bool edges = true;
  bool header_seen = false;
  // Below a comment that announces a graph, vertices may be written as real numbers, as numpy.savetxt does.
  const auto is_vertex = [&graph](std::string_view field) {
    return is_whole(field) || (graph && !whole_digits(field).empty());
  };
  for (std::string_view line; !lines.empty();) {
    line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    const std::vector<std::string_view> fields = fields_of_line(line);
    if (fields.empty()) continue;
    if (is_comment(fields.front())) {
      graph = graph || announces_graph(line);
      continue;
    }
    if (first.empty() && is_table_header(fields.front()) && !std::exchange(header_seen, true)) continue;
    const bool numbers = std::all_of(fields.begin(), fields.end(), is_number);
    if (first.empty() && !numbers) return TextContent::neither;
    if (first.empty()) first = fields;
    if (!numbers || fields.size() != first.size()) {
      return may_be_sizes(first) ? TextContent::ragged : TextContent::columns;
    }
    edges =
        edges && (fields.size() == 2 || fields.size() == 3) && is_vertex(fields[0]) && is_vertex(fields[1]);
  }
  if (first.empty()) return TextContent::neither;
  if (!edges) return TextContent::columns;
  if (graph) return TextContent::edges;
  return may_be_header(first) ? TextContent::columns_or_other : TextContent::columns_or_edges;
}

}  // namespace echelon::io

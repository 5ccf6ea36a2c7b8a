// SPDX-License-Identifier: BSD-3-Clause
/// Lines of numbers in columns: their fields, and the formats that they fit.
#pragma once

#include "io/text/numbers.hpp"

#include <string_view>
#include <vector>

namespace echelon::io {

inline bool is_separator(char c) {
  return c == ',' || c == ';';
}
inline bool is_comment(std::string_view line) {
  return !line.empty() && (line.front() == '#' || line.front() == '%');
}
/// End of the field at `at`: the next blank, separator or line end.
inline const char* field_end(const char* at, const char* end) {
  while (!ends_word(at, end) && !is_separator(*at)) ++at;
  return at;
}
/// Skips blanks and at most one comma or semicolon among them.
inline const char* skip_separator(const char* at, const char* end) {
  at = skip_blanks(at, end);
  return at != end && is_separator(*at) ? skip_blanks(at + 1, end) : at;
}

/// The fields of a line; a comment is one like any other.
std::vector<std::string_view> fields_of_line(std::string_view line);
/// Whether the first field of a table's first line is a column's name: it starts with a letter or a quotation
/// mark and is no number.
bool is_table_header(std::string_view field);

/// Formats that lines of text fit.
enum class TextContent {
  neither,           ///< no numbers in the first line of data
  ragged,            ///< other lines do not fit the first one, which may be the header of another format
  columns,           ///< columns of numbers
  columns_or_edges,  ///< two or three columns, the first two of them whole numbers
  columns_or_other,  ///< as columns_or_edges, and the first line may be the header of yet another format
  edges,             ///< as columns_or_edges, below a comment that announces a graph
};

/// Recognises the content by whole lines from the start of a file.
TextContent text_content(std::string_view lines);

}  // namespace echelon::io

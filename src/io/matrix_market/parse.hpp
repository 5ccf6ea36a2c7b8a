// SPDX-License-Identifier: BSD-3-Clause
/// The text of Matrix Market files: the header, and the entries of a block of lines.
#pragma once

#include "io/text/line_blocks.hpp"
#include "io/text/numbers.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace echelon::io {

enum class Format { coordinate, array };
enum class Field { real, integer, pattern };
enum class Symmetry { general, symmetric, skew_symmetric };

struct Header {
  Format format = Format::coordinate;
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;  ///< lines of data to come
  std::int64_t lines = 0;    ///< that the header itself takes; the sizes are in the last

  friend bool operator==(const Header&, const Header&) = default;
};

/// Takes the header's lines off `blocks`. Throws ParseError.
Header read_header(LineBlocks& blocks, const std::string& name);

/// The k-th line of `text` that holds data, from 0, at its first character that is not blank.
const char* data_line(std::string_view text, std::int64_t k);

/// Rows and columns from 0; 0 in an array file, where the order of the values tells the place.
template <class T>
struct Entry {
  std::int32_t row = 0;
  std::int32_t column = 0;
  T value = 1;
};

/// What a block of lines holds: the entries, up to the first fault.
template <class T>
struct Entries {
  std::vector<Entry<T>> list;
  std::optional<Fault> fault;
  std::int64_t line_ends = 0;
};

/// Skipping is for counting the entries of each row.
enum class Values { read, skip };

template <class T, Values values>
Entry<T> parse_entry(const char*& at, const char* end, const Header& header) {
  Entry<T> entry;
  if (header.format == Format::coordinate) {
    entry.row = parse_index(at, end, header.rows, "row");
    at = skip_blanks(at, end);
    entry.column = parse_index(at, end, header.columns, "column");
    at = skip_blanks(at, end);
  }
  if constexpr (values == Values::skip) {
    at = line_end(at, end);
  } else {
    const char* const value = at;
    if (header.field == Field::real) entry.value = parse_real<T>(at, end);
    if (header.field == Field::integer) entry.value = parse_integer<T>(at, end);
    if (header.symmetry == Symmetry::skew_symmetric && header.format == Format::coordinate &&
        entry.row == entry.column && entry.value != 0) {
      throw Fault{value, "the diagonal of a skew-symmetric matrix is zero"};
    }
  }
  return entry;
}

/// Whole lines of data, blank lines and comments. `entries` is overwritten.
template <class T, Values values>
void parse_entries(std::string_view text, const Header& header, Entries<T>& entries) {
  entries.list.clear();
  entries.fault.reset();
  entries.line_ends = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  try {
    while (at != end) {
      at = skip_blanks(at, end);
      if (at != end && *at == '%') {
        at = line_end(at, end);
      } else if (at != end && *at != '\n') {
        const Entry<T> entry = parse_entry<T, values>(at, end, header);
        at = skip_blanks(at, end);
        if (at != end && *at != '\n') throw Fault{at, "nothing more is expected on this line"};
        entries.list.push_back(entry);
      }
      if (at != end) {
        ++at;
        ++entries.line_ends;
      }
    }
  } catch (Fault& fault) {
    entries.fault = std::move(fault);
  }
}

}  // namespace echelon::io

// SPDX-License-Identifier: BSD-3-Clause
/// Parser of Matrix Market text: the header, and the entries of a block of lines.
#pragma once

#include "io/text/line_blocks.hpp"
#include "io/text/numbers.hpp"

#include <echelon/matrix/scalar.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace echelon::io {

enum class Format { coordinate, array };
enum class Field { real, complex, integer, pattern };
enum class Symmetry { general, symmetric, skew_symmetric, hermitian };

struct Header {
  Format format = Format::coordinate;
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;       ///< number of data lines that the header announces
  std::int64_t lines = 0;         ///< number of header lines; the last one holds the sizes
  std::int64_t field_column = 0;  ///< of the word for the field in the first line, from 1

  friend bool operator==(const Header&, const Header&) = default;
};

/// Reads the header's lines from `blocks`. Throws ParseError.
Header read_header(LineBlocks& blocks, const std::string& name);

/// First nonblank character of the k-th data line of `text`, k from 0.
const char* data_line(std::string_view text, std::int64_t k);

/// Row and column from 0; both 0 in an array file, where the position in the file determines them.
template <class T>
struct Entry {
  std::int32_t row = 0;
  std::int32_t column = 0;
  T value = 1;
};

/// Entries of a block of lines, up to the first fault.
template <class T>
struct Entries {
  std::vector<Entry<T>> list;
  std::optional<Fault> fault;
  std::int64_t line_ends = 0;
};

/// A real part and an imaginary part. Throws Fault.
template <class T>
T parse_complex(const char*& at, const char* end) {
  const Real<T> real_part = parse_real<Real<T>>(at, end);
  at = skip_blanks(at, end);
  return {real_part, parse_real<Real<T>>(at, end)};
}

/// Message for a diagonal element, from 0, with an imaginary part.
std::string not_hermitian(std::int64_t row);

/// Whether values are parsed; the pass that counts the entries of each row skips them.
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
    if (header.field == Field::real) entry.value = parse_real<Real<T>>(at, end);
    if (header.field == Field::integer) entry.value = parse_integer<Real<T>>(at, end);
    if constexpr (is_complex<T>) {
      if (header.field == Field::complex) entry.value = parse_complex<T>(at, end);
    }
    if (header.symmetry == Symmetry::skew_symmetric && header.format == Format::coordinate &&
        entry.row == entry.column && entry.value != T{0}) {
      throw Fault{value, "the diagonal of a skew-symmetric matrix is zero"};
    }
    if constexpr (is_complex<T>) {
      if (header.symmetry == Symmetry::hermitian && header.format == Format::coordinate &&
          entry.row == entry.column && entry.value.imag() != 0) {
        throw Fault{value, not_hermitian(entry.row)};
      }
    }
  }
  return entry;
}

/// Parses whole lines: data, blank lines and comments. Overwrites `entries`.
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

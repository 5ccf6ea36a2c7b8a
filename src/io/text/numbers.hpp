// SPDX-License-Identifier: BSD-3-Clause
/// Words and numbers in a line of text, and messages for malformed ones.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

namespace echelon::io {

/// A fault in the text and its position; thrown and caught inside src/io.
struct Fault {
  const char* at = nullptr;
  std::string reason;
};

/// The word that starts at `at`, up to a blank or the line's end.
std::string_view word_at(const char* at, const char* end);
/// The word in quotes for a message: printable, and cut off after 32 characters.
std::string quoted(std::string_view word);
std::string lower_case(std::string_view word);

/// Message for an index, or an integer value, that cannot be parsed at `at`.
Fault index_fault(const char* at, const char* end, std::int64_t limit, const char* what);
Fault integer_fault(const char* at, const char* end);
/// Parses numbers that std::from_chars refuses: a Fortran exponent (1.5D+02, and 1.5-101 without a letter), a
/// number too small for T. Throws Fault.
template <class T>
T parse_unusual_real(const char*& at, const char* end);

/// The digits of a whole number that is written as a real one, 12 for 1.2e+01, with its minus sign if it has
/// one; empty for a fraction and for text that is no number.
std::string whole_digits(std::string_view word);

inline const char* skip_blanks(const char* at, const char* end) {
  while (at != end && (*at == ' ' || *at == '\t' || *at == '\r')) ++at;
  return at;
}
inline const char* line_end(const char* at, const char* end) {
  const void* found = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
  return found != nullptr ? static_cast<const char*>(found) : end;
}
inline bool ends_word(const char* at, const char* end) {
  return at == end || *at == ' ' || *at == '\n' || *at == '\t' || *at == '\r';
}
/// Skips a plus sign, which std::from_chars refuses.
inline const char* skip_plus(const char* at, const char* end) {
  return end - at > 1 && *at == '+' && at[1] != '-' ? at + 1 : at;
}

/// Parses an index from 1 to `limit` and returns it counted from 0. Throws Fault.
inline std::int32_t parse_index(const char*& at, const char* end, std::int64_t limit, const char* what) {
  std::int64_t index = 0;
  const auto [stop, error] = std::from_chars(skip_plus(at, end), end, index);
  if (error != std::errc() || index < 1 || index > limit || !ends_word(stop, end)) {
    throw index_fault(at, end, limit, what);
  }
  at = stop;
  return static_cast<std::int32_t>(index - 1);
}

template <class T>
T parse_integer(const char*& at, const char* end) {
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(skip_plus(at, end), end, value);
  if (error != std::errc() || !ends_word(stop, end)) throw integer_fault(at, end);
  at = stop;
  return static_cast<T>(value);
}

template <class T>
T parse_real(const char*& at, const char* end) {
  T value = 0;
  const auto [stop, error] = std::from_chars(skip_plus(at, end), end, value);
  if (error != std::errc() || !ends_word(stop, end) || !std::isfinite(value)) {
    return parse_unusual_real<T>(at, end);
  }
  at = stop;
  return value;
}

}  // namespace echelon::io

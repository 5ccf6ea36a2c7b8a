// SPDX-License-Identifier: BSD-3-Clause
#include "io/text/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

namespace echelon::io {

std::string_view word_at(const char* at, const char* end) {
  const char* stop = at;
  while (!ends_word(stop, end)) ++stop;
  return {at, static_cast<std::size_t>(stop - at)};
}

std::string quoted(std::string_view word) {
  constexpr std::size_t most = 32;
  std::string result = "'";
  for (const char c : word.substr(0, most)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte >= 0x20 && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return result + (word.size() > most ? "...'" : "'");
}

std::string lower_case(std::string_view word) {
  std::string result(word);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

namespace {

/// Exponent after the letter at `letter`, 0 if the number has none; one that takes more than 32 bits is cut
/// down.
std::int64_t exponent_of(std::string_view number, std::size_t letter) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (letter >= number.size()) return 0;
  std::string_view digits = number.substr(letter + 1);
  if (digits.front() == '+') digits.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (error == std::errc::result_out_of_range) return digits.front() == '-' ? -most : most;
  return std::clamp(exponent, -most, most);
}

/// Whether a decimal number other than zero that T cannot hold underflows rather than overflows: the sign of
/// the power of ten of its first digit.
bool is_tiny(std::string_view word) {
  if (word.front() == '-') word.remove_prefix(1);
  const std::size_t mantissa_end = std::min(word.find_first_of("eE"), word.size());
  const std::string_view mantissa = word.substr(0, mantissa_end);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_of("123456789");
  const auto place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  return exponent_of(word, mantissa_end) < -place;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The number without its plus sign, and with an 'e' before its exponent where Fortran writes a D, or no
/// letter before an exponent of three digits (1.5-101).
std::string plain_real(std::string_view word) {
  constexpr std::size_t unlettered_exponent = 4;  // sign and digits
  std::string number(skip_plus(word.data(), word.data() + word.size()), word.data() + word.size());
  const std::size_t mantissa_end = number.find_first_not_of("0123456789.", number.starts_with('-') ? 1 : 0);
  if (mantissa_end == std::string::npos) return number;
  char& next = number[mantissa_end];
  if (next == 'D' || next == 'd') {
    next = 'e';
  } else if ((next == '+' || next == '-') && number.size() == mantissa_end + unlettered_exponent &&
             number.find('.') < mantissa_end && std::all_of(number.end() - 3, number.end(), is_digit)) {
    number.insert(mantissa_end, 1, 'e');
  }
  return number;
}

}  // namespace

Fault index_fault(const char* at, const char* end, std::int64_t limit, const char* what) {
  const std::string_view word = word_at(at, end);
  if (word.empty()) return {at, fmt::format("the {} index is missing", what)};
  std::int64_t index = 0;
  const char* const word_end = at + word.size();
  const auto [stop, error] = std::from_chars(skip_plus(at, end), word_end, index);
  if (stop != word_end || error == std::errc::invalid_argument) {
    return {at, fmt::format("{} where the {} index, a whole number, is expected", quoted(word), what)};
  }
  if (error == std::errc() && index == 0) {
    return {at, fmt::format("{} 0: indices start at 1; is this file 0-based?", what)};
  }
  if (word.front() == '-') return {at, fmt::format("{} {}: indices start at 1", what, quoted(word))};
  return {at, fmt::format("{} {} of a matrix with {} {}s", what, word, limit, what)};
}

Fault integer_fault(const char* at, const char* end) {
  const std::string_view word = word_at(at, end);
  if (word.empty()) return {at, "the value is missing"};
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(skip_plus(at, end), at + word.size(), value);
  if (stop == at + word.size() && error == std::errc::result_out_of_range) {
    return {at,
            fmt::format("{} does not fit in 64 bits; a header that says real would allow it", quoted(word))};
  }
  double real = 0;
  const auto [real_stop, real_error] = std::from_chars(skip_plus(at, end), at + word.size(), real);
  if (real_stop == at + word.size() && real_error == std::errc() && std::isfinite(real)) {
    return {at, fmt::format("{} is not a whole number, though the header says integer", quoted(word))};
  }
  return {at, fmt::format("{} where a whole number is expected", quoted(word))};
}

template <class T>
T parse_unusual_real(const char*& at, const char* end) {
  const std::string_view word = word_at(at, end);
  if (word.empty()) throw Fault{at, "the value is missing"};
  const std::string number = plain_real(word);
  T value = 0;
  const auto result = std::from_chars(number.data(), number.data() + number.size(), value);
  if (result.ec == std::errc() && !std::isfinite(value)) {
    throw Fault{at, fmt::format("{}: entries must be finite", quoted(word))};
  }
  if (result.ec == std::errc::invalid_argument || result.ptr != number.data() + number.size()) {
    throw Fault{at, fmt::format("{} where a number is expected", quoted(word))};
  }
  if (result.ec == std::errc::result_out_of_range && !is_tiny(number)) {
    throw Fault{at, fmt::format("{} is more than {} can hold (at most {:.3g})", quoted(word),
                                sizeof(T) == sizeof(float) ? "single precision" : "double precision",
                                std::numeric_limits<T>::max())};
  }
  at += word.size();
  if (result.ec == std::errc::result_out_of_range) value = number.front() == '-' ? T(-0.0) : T(0);
  return value;
}

std::string whole_digits(std::string_view word) {
  const std::string number = plain_real(word);
  const char* const end = number.data() + number.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(number.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument || !std::isfinite(value)) return {};

  const std::size_t sign = number.starts_with('-') ? 1 : 0;
  const std::size_t mantissa_end = std::min(number.find_first_of("eE"), number.size());
  const std::size_t point = std::min(number.find('.'), mantissa_end);
  std::string digits = number.substr(sign, point - sign);
  if (point < mantissa_end) digits += number.substr(point + 1, mantissa_end - point - 1);
  const std::size_t last = digits.find_last_not_of('0');
  if (last == std::string::npos) return "0";
  // Power of ten of the last digit that is not zero.
  const std::int64_t power = exponent_of(number, mantissa_end) + static_cast<std::int64_t>(point - sign) -
                             static_cast<std::int64_t>(last) - 1;
  if (power < 0) return {};
  digits.resize(last + 1);
  constexpr std::int64_t most_zeros = 400;  // beyond the range of double precision
  return number.substr(0, sign) + digits.append(static_cast<std::size_t>(std::min(power, most_zeros)), '0');
}

template float parse_unusual_real(const char*&, const char*);
template double parse_unusual_real(const char*&, const char*);

}  // namespace echelon::io

// SPDX-License-Identifier: BSD-3-Clause
#include "io/harwell_boeing/fortran_format.hpp"

#include "io/text/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

namespace echelon::io {

namespace {

std::string without_blanks(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c != ' ' && c != '\t' && c != '\r')
      result += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return result;
}

std::string_view trimmed(std::string_view field) {
  constexpr const char* blanks = " \t\r";
  const std::size_t begin = field.find_first_not_of(blanks);
  return begin == std::string_view::npos ? std::string_view(field.data(), 0)
                                         : field.substr(begin, field.find_last_not_of(blanks) - begin + 1);
}

/// Scanner over the text of a format.
class FormatText {
 public:
  explicit FormatText(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char next() { return at_ < text_.size() ? text_[at_++] : '\0'; }
  bool take(char c) { return peek() == c && next() == c; }
  /// Returns false if no number from 0 to 999 is next.
  bool take_number(int& number) {
    const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error != std::errc() || number < 0 || number > 999) return false;
    at_ = static_cast<std::size_t>(stop - text_.data());
    return true;
  }
  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

/// Returns false for a format that is not supported.
bool parse(FormatText& text, FortranFormat& format) {
  if (!text.take('(')) return false;
  const bool negative = text.take('-');
  int number = 0;
  bool has_number = text.take_number(number);
  if (text.peek() == 'P') {
    if (!has_number) return false;
    text.next();
    text.take(',');
    format.scale = negative ? -number : number;
    has_number = text.take_number(number);
  } else if (negative) {
    return false;
  }
  if (has_number) format.repeat = number;
  format.kind = text.next();
  if (format.kind == '\0' || std::string_view("IEDFG").find(format.kind) == std::string_view::npos)
    return false;
  if (!text.take_number(format.width)) return false;
  if (text.take('.') && !text.take_number(format.decimals)) return false;
  int exponent_digits = 0;
  if (text.take('E') && !text.take_number(exponent_digits)) return false;
  if (format.kind == 'I') format.decimals = 0;  // I5.3 has leading zeros
  return text.take(')') && text.at_end() && format.repeat > 0 && format.width > 0;
}

/// Converts a field without blanks around it to the syntax of std::from_chars: mantissa, 'e', exponent.
std::string plain_number(std::string_view field, const FortranFormat& format) {
  const std::string_view digits = "0123456789.";
  const std::size_t sign = field.front() == '+' || field.front() == '-' ? 1 : 0;
  const std::size_t mantissa_end = std::min(field.find_first_not_of(digits, sign), field.size());
  std::string mantissa(
      field.substr(field.front() == '+' ? 1 : 0, mantissa_end - (field.front() == '+' ? 1 : 0)));
  std::string_view tail = field.substr(mantissa_end);
  std::int64_t exponent = 0;
  if (tail.empty()) {
    exponent -= format.scale;
  } else {
    const bool lettered = std::string_view("EeDd").find(tail.front()) != std::string_view::npos;
    if (lettered) tail.remove_prefix(1);
    // Fortran before 77 wrote the plus sign of an exponent as a blank.
    if (lettered && !tail.empty() && tail.front() == ' ')
      tail.remove_prefix(std::min(tail.find_first_not_of(' '), tail.size()));
    const bool is_signed = !tail.empty() && (tail.front() == '+' || tail.front() == '-');
    if (!lettered && !is_signed) return {};
    const std::string_view number = tail.substr(is_signed && tail.front() == '+' ? 1 : 0);
    const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), exponent);
    constexpr std::int64_t most = 1000000;
    if (error == std::errc::invalid_argument || stop != number.data() + number.size()) return {};
    if (error != std::errc() || exponent > most) exponent = tail.front() == '-' ? -most : most;
    exponent = std::max(exponent, -most);
  }
  if (mantissa.find('.') == std::string::npos) exponent -= format.decimals;
  return mantissa + 'e' + std::to_string(exponent);
}

}  // namespace

FortranFormat parse_fortran_format(std::string_view text) {
  FortranFormat format;
  FormatText words(without_blanks(text));
  if (!parse(words, format)) {
    throw Fault{text.data(), fmt::format("{} is not a supported format; examples are (16I5), (4E20.12) and "
                                         "(1P,3D26.18)",
                                         quoted(trimmed(text)))};
  }
  return format;
}

std::int64_t parse_fortran_integer(std::string_view field) {
  const std::string_view word = trimmed(field);
  if (word.empty()) throw Fault{field.data(), "the number is missing"};
  std::int64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(skip_plus(word.data(), end), end, value);
  if (error != std::errc() || stop != end) {
    throw Fault{word.data(), fmt::format("{} where a whole number is expected", quoted(word))};
  }
  return value;
}

template <class T>
T parse_fortran_real(std::string_view field, const FortranFormat& format) {
  const std::string_view word = trimmed(field);
  if (word.empty()) throw Fault{field.data(), "the value is missing"};
  const bool begins_as_number =
      std::string_view("+-.0123456789").find(word.front()) != std::string_view::npos;
  const std::string number = begins_as_number ? plain_number(word, format) : std::string(word);
  const std::string& text = number.empty() ? std::string(word) : number;
  const char* at = text.data();
  const char* const end = at + text.size();
  try {
    const T value = parse_real<T>(at, end);
    if (at != end) throw Fault{at, fmt::format("{} where a number is expected", quoted(word))};
    return value;
  } catch (const Fault& fault) {
    throw Fault{word.data(), fault.reason};
  }
}

template float parse_fortran_real(std::string_view, const FortranFormat&);
template double parse_fortran_real(std::string_view, const FortranFormat&);

}  // namespace echelon::io

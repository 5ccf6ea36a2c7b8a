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

/// Parser of a format's text. It appends the fields of an item to the lines each time that the item is
/// repeated, as Fortran does while it reads.
class FormatParser {
 public:
  explicit FormatParser(std::string text) : text_(std::move(text)) {}

  /// Returns false for a format that is not supported.
  bool parse(FortranFormat& format) {
    if (!take('(')) return false;
    further_begin_ = at_;
    if (!parse_pass(format.first)) return false;
    at_ = further_begin_;
    return parse_pass(format.further);
  }

 private:
  static constexpr int most_groups = 16;  // groups inside each other
  /// Most columns of a line, which a block of text must hold, and most items of a pass.
  static constexpr int most = 1 << 18;

  /// Parses from here to the format's end. The scale factor stays that of the previous pass.
  bool parse_pass(std::vector<FortranLine>& lines) {
    lines_ = {{}};
    column_ = 0;
    items_ = 0;
    if (!parse_items(0) || at_ != text_.size()) return false;
    lines = std::move(lines_);
    return std::any_of(lines.begin(), lines.end(), [](const FortranLine& line) { return !line.empty(); });
  }

  /// Parses items up to the closing parenthesis. Commas stand between them, except beside / and after P.
  bool parse_items(int depth) {
    for (char previous = '(';; ++items_) {
      if (items_ > most) return false;
      if (take(')')) return previous != '(' && previous != ',';
      if (take(',')) {
        if (previous == '(' || previous == ',') return false;
        previous = ',';
      } else if (take('/')) {
        lines_.emplace_back();
        column_ = 0;
        previous = '/';
      } else {
        if (previous == 'I') return false;
        previous = 'I';
        if (!parse_item(depth, previous)) return false;
      }
    }
  }

  /// Parses one item; `kind` becomes P if it is a scale factor.
  bool parse_item(int depth, char& kind) {
    const std::size_t begin = at_;
    const bool negative = take('-');
    int number = 0;
    const bool counted = take_number(number);
    if (negative && (!counted || peek() != 'P')) return false;
    if (take('P')) {
      kind = 'P';
      scale_ = negative ? -number : number;
      return counted;
    }
    const int repeat = counted ? number : 1;
    if (repeat == 0) return false;
    if (take('(')) {
      if (depth == 0) further_begin_ = begin;
      return depth < most_groups && parse_group(depth, repeat);
    }
    if (take('X')) return move_to(column_ + repeat);
    if (peek() == 'T' || peek() == 'S' || peek() == 'B') return !counted && parse_control();
    return parse_fields(repeat);
  }

  bool parse_group(int depth, int repeat) {
    const std::size_t begin = at_;
    for (int k = 0; k < repeat; ++k) {
      at_ = begin;
      if (!parse_items(depth + 1)) return false;
    }
    return true;
  }

  /// Parses T, TL, TR, and S, SP, SS, BN.
  bool parse_control() {
    if (take('B')) return take('N');
    if (take('S')) {
      if (!take('P')) take('S');
      return true;
    }
    take('T');
    const bool left = take('L');
    const bool right = !left && take('R');
    int number = 0;
    if (!take_number(number) || number == 0) return false;
    return move_to(left ? std::max(column_ - number, 0) : right ? column_ + number : number - 1);
  }

  bool parse_fields(int repeat) {
    FortranField field;
    field.kind = next();
    if (field.kind == '\0' || std::string_view("IEDFG").find(field.kind) == std::string_view::npos)
      return false;
    if (field.kind == 'E' && !take('N')) take('S');
    int width = 0;
    if (!take_number(width) || width == 0) return false;
    if (take('.') && !take_number(field.decimals)) return false;
    int exponent_digits = 0;
    if (take('E') && !take_number(exponent_digits)) return false;
    if (field.kind == 'I') field.decimals = 0;  // I5.3 has leading zeros
    field.width = static_cast<std::size_t>(width);
    field.scale = scale_;
    for (int k = 0; k < repeat; ++k, ++items_) {
      field.column = static_cast<std::size_t>(column_);
      if (items_ > most || !move_to(column_ + width)) return false;
      lines_.back().push_back(field);
    }
    return true;
  }

  bool move_to(int column) {
    column_ = column;
    return column <= most;
  }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char next() { return at_ < text_.size() ? text_[at_++] : '\0'; }
  bool take(char c) { return peek() == c && next() == c; }
  /// Returns false if no number from 0 to `most` is next.
  bool take_number(int& number) {
    const auto [stop, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error != std::errc() || number < 0 || number > most) return false;
    at_ = static_cast<std::size_t>(stop - text_.data());
    return true;
  }

  std::string text_;
  std::size_t at_ = 0;
  std::size_t further_begin_ = 0;  // of the last group that is not inside another one, with its repeat count
  std::vector<FortranLine> lines_;
  int column_ = 0;
  int scale_ = 0;
  int items_ = 0;  // of this pass, each counted as often as it is repeated
};

/// Converts the text of a field, without blanks around it, to the syntax of std::from_chars: mantissa, 'e',
/// exponent.
std::string plain_number(std::string_view word, const FortranField& field) {
  const std::string_view digits = "0123456789.";
  const std::size_t sign = word.front() == '+' || word.front() == '-' ? 1 : 0;
  const std::size_t mantissa_end = std::min(word.find_first_not_of(digits, sign), word.size());
  std::string mantissa(
      word.substr(word.front() == '+' ? 1 : 0, mantissa_end - (word.front() == '+' ? 1 : 0)));
  std::string_view tail = word.substr(mantissa_end);
  std::int64_t exponent = 0;
  if (tail.empty()) {
    exponent -= field.scale;
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
  if (mantissa.find('.') == std::string::npos) exponent -= field.decimals;
  return mantissa + 'e' + std::to_string(exponent);
}

}  // namespace

FortranFormat parse_fortran_format(std::string_view text) {
  FortranFormat format;
  if (!FormatParser(without_blanks(text)).parse(format)) {
    throw Fault{text.data(),
                fmt::format("{} is not a supported format; examples are (16I5), (1X,4E20.12) and "
                            "(1P,3D26.18)",
                            quoted(trimmed(text)))};
  }
  return format;
}

std::int64_t parse_fortran_integer(std::string_view text) {
  const std::string_view word = trimmed(text);
  if (word.empty()) throw Fault{text.data(), "the number is missing"};
  std::int64_t value = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(skip_plus(word.data(), end), end, value);
  if (error != std::errc() || stop != end) {
    throw Fault{word.data(), fmt::format("{} where a whole number is expected", quoted(word))};
  }
  return value;
}

template <class T>
T parse_fortran_real(std::string_view text, const FortranField& field) {
  const std::string_view word = trimmed(text);
  if (word.empty()) throw Fault{text.data(), "the value is missing"};
  const bool begins_as_number =
      std::string_view("+-.0123456789").find(word.front()) != std::string_view::npos;
  const std::string number = begins_as_number ? plain_number(word, field) : std::string(word);
  const std::string& plain = number.empty() ? std::string(word) : number;
  const char* at = plain.data();
  const char* const end = at + plain.size();
  try {
    const T value = parse_real<T>(at, end);
    if (at != end) throw Fault{at, fmt::format("{} where a number is expected", quoted(word))};
    return value;
  } catch (const Fault& fault) {
    throw Fault{word.data(), fault.reason};
  }
}

template float parse_fortran_real(std::string_view, const FortranField&);
template double parse_fortran_real(std::string_view, const FortranField&);

}  // namespace echelon::io

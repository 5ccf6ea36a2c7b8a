// SPDX-License-Identifier: BSD-3-Clause
#include "io/matrix_market_text.hpp"

#include "support/text.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <utility>

namespace echelon::io {

namespace {

constexpr const char* form =
    "%%MatrixMarket matrix coordinate|array real|integer|pattern "
    "general|symmetric|skew-symmetric";

std::string_view word_at(const char* at, const char* end) {
  const char* stop = at;
  while (!ends_word(stop, end)) ++stop;
  return {at, static_cast<std::size_t>(stop - at)};
}

/// For a message: printable, and not too long.
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

/// The words of a header line, one after the other.
class Words {
 public:
  explicit Words(std::string_view line) : at_(line.data()), end_(at_ + line.size()) {}

  std::string_view next() {
    at_ = skip_blanks(at_ + word_.size(), end_);
    word_ = word_at(at_, end_);
    return word_;
  }
  [[nodiscard]] const char* at() const { return at_; }
  [[nodiscard]] Fault fault(std::string reason) const { return {at_, std::move(reason)}; }

 private:
  const char* at_;
  const char* end_;
  std::string_view word_;
};

/// The next word, which must be one of `names`; its number among them.
std::size_t choose(Words& words, const std::string& what, const std::vector<std::string>& names) {
  const std::string word = lower_case(words.next());
  if (word.empty()) throw words.fault(fmt::format("the {} is missing; a header reads '{}'", what, form));
  const auto found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  if (word == "complex" || word == "hermitian") {
    throw words.fault(fmt::format("{} matrices are not supported, only real ones", word));
  }
  const std::string near = nearest(word, names);
  throw words.fault(fmt::format("{} is not a {} that can be read; those are {}{}", quoted(word), what,
                                fmt::join(names, ", "),
                                near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
}

void parse_banner(std::string_view line, Header& header) {
  Words words(line);
  const std::string_view banner = words.next();
  if (lower_case(banner) != "%%matrixmarket") {
    throw words.fault(fmt::format("not a Matrix Market file: it starts with {}, not with '%%MatrixMarket'",
                                  quoted(banner)));
  }
  choose(words, "object", {"matrix"});
  constexpr std::array formats = {Format::coordinate, Format::array};
  header.format = formats.at(choose(words, "format", {"coordinate", "array"}));
  constexpr std::array fields = {Field::real, Field::integer, Field::pattern};
  header.field = fields.at(choose(words, "field", {"real", "integer", "pattern"}));
  if (header.field == Field::pattern && header.format == Format::array) {
    throw words.fault("an array of pattern entries has no values");
  }
  constexpr std::array symmetries = {Symmetry::general, Symmetry::symmetric, Symmetry::skew_symmetric};
  header.symmetry = symmetries.at(choose(words, "symmetry", {"general", "symmetric", "skew-symmetric"}));
  if (header.symmetry == Symmetry::skew_symmetric && header.field == Field::pattern) {
    throw words.fault("a pattern has no signs and cannot be skew-symmetric");
  }
  if (!words.next().empty()) throw words.fault("nothing more is expected on this line");
}

std::int64_t parse_size(Words& words, const char* what, std::int64_t limit) {
  const std::string_view word = words.next();
  if (word.empty()) throw words.fault(fmt::format("the number of {} is missing", what));
  std::int64_t size = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(skip_plus(word.data(), end), end, size);
  if (stop != end || error == std::errc::invalid_argument) {
    throw words.fault(fmt::format("{} where the number of {} is expected", quoted(word), what));
  }
  if (word.front() == '-') throw words.fault(fmt::format("{} {}", word, what));
  if (error != std::errc() || size > limit) {
    throw words.fault(fmt::format("{} {}: at most {} can be counted", word, what, limit));
  }
  return size;
}

/// Lines of data of an array file. The sizes count to 2^31, so nothing here overflows.
std::int64_t array_entries(const Header& header) {
  const std::int64_t n = header.rows;
  if (header.symmetry == Symmetry::general) return n * header.columns;
  return header.symmetry == Symmetry::symmetric ? n * (n + 1) / 2 : n * (n - 1) / 2;
}

void parse_sizes(std::string_view line, Header& header) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  Words words(line);
  header.rows = parse_size(words, "rows", most);
  header.columns = parse_size(words, "columns", most);
  if (header.symmetry != Symmetry::general && header.rows != header.columns) {
    throw words.fault(
        fmt::format("a {} by {} matrix is not square and cannot be symmetric", header.rows, header.columns));
  }
  header.entries = header.format == Format::array
                       ? array_entries(header)
                       : parse_size(words, "entries", std::numeric_limits<std::int64_t>::max());
  if (!words.next().empty()) throw words.fault("nothing more is expected on this line");
}

/// Calls `parse(line)` and gives a fault its place in the file.
template <class Parse>
void parse_line(const std::string& line, std::int64_t number, const std::string& name, Parse parse) {
  try {
    parse(line);
  } catch (const Fault& fault) {
    throw ParseError(name, number, fault.at - line.data() + 1, fault.reason);
  }
}

/// Whether a number that T cannot hold is too small rather than too large. `word` is a decimal number that
/// differs from zero: the power of ten of its first digit tells.
bool is_tiny(std::string_view word) {
  if (word.front() == '-') word.remove_prefix(1);
  const std::size_t mantissa_end = std::min(word.find_first_of("eE"), word.size());
  const std::string_view mantissa = word.substr(0, mantissa_end);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_of("123456789");
  const auto place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  std::int64_t exponent = 0;
  if (mantissa_end < word.size()) {
    std::string_view digits = word.substr(mantissa_end + 1);
    if (digits.front() == '+') digits.remove_prefix(1);
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error == std::errc::result_out_of_range) return digits.front() == '-';
  }
  return exponent < -place;
}

}  // namespace

Header read_header(LineBlocks& blocks, const std::string& name) {
  Header header;
  std::string line;
  const auto next = [&](const char* missing) {
    if (blocks.next_line(line)) {
      ++header.lines;
    } else if (blocks.failure()) {
      throw ParseError(name, header.lines + 1, blocks.failure()->column, blocks.failure()->reason);
    } else {
      throw ParseError(name, header.lines + 1, 1, missing);
    }
  };
  const auto is_remark = [&] {
    const char* const end = line.data() + line.size();
    const char* const first = skip_blanks(line.data(), end);
    return first == end || *first == '%';
  };
  next("the file is empty");
  parse_line(line, header.lines, name, [&](std::string_view text) { parse_banner(text, header); });
  do {
    next("the file ends before the line with the matrix's size");
  } while (is_remark());
  parse_line(line, header.lines, name, [&](std::string_view text) { parse_sizes(text, header); });
  return header;
}

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
  std::string number(skip_plus(at, end), word.data() + word.size());
  T value = 0;
  auto result = std::from_chars(number.data(), number.data() + number.size(), value);
  if (result.ec == std::errc() && !std::isfinite(value)) {
    throw Fault{at, fmt::format("{}: a matrix to compute with has finite entries only", quoted(word))};
  }
  if (result.ec == std::errc() && (*result.ptr == 'D' || *result.ptr == 'd')) {
    number[static_cast<std::size_t>(result.ptr - number.data())] = 'e';
    result = std::from_chars(number.data(), number.data() + number.size(), value);
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

template float parse_unusual_real(const char*&, const char*);
template double parse_unusual_real(const char*&, const char*);

const char* data_line(std::string_view text, std::int64_t k) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    at = skip_blanks(at, end);
    if (at != end && *at != '%' && *at != '\n' && k-- == 0) return at;
    at = line_end(at, end);
    if (at == end) return end;
    ++at;
  }
}

}  // namespace echelon::io

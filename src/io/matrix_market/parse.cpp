// SPDX-License-Identifier: BSD-3-Clause
#include "io/matrix_market/parse.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace echelon::io {

namespace {

constexpr const char* form =
    "%%MatrixMarket matrix coordinate|array real|complex|integer|pattern "
    "general|symmetric|skew-symmetric|hermitian";

/// Scanner over the words of a header line.
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

/// Index in `names` of the next word, which must be one of them.
std::size_t choose(Words& words, const std::string& what, const std::vector<std::string>& names) {
  const std::string word = lower_case(words.next());
  if (word.empty()) throw words.fault(fmt::format("the {} is missing; a header reads '{}'", what, form));
  const auto found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const std::string near = nearest_name(word, names);
  throw words.fault(fmt::format("{} is not a supported {}; supported are {}{}", quoted(word), what,
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
  constexpr std::array fields = {Field::real, Field::complex, Field::integer, Field::pattern};
  header.field = fields.at(choose(words, "field", {"real", "complex", "integer", "pattern"}));
  header.field_column = words.at() - line.data() + 1;
  if (header.field == Field::pattern && header.format == Format::array) {
    throw words.fault("an array of pattern entries has no values");
  }
  // A real Hermitian matrix is symmetric.
  const Symmetry hermitian = header.field == Field::complex ? Symmetry::hermitian : Symmetry::symmetric;
  const std::array symmetries = {Symmetry::general, Symmetry::symmetric, Symmetry::skew_symmetric, hermitian};
  header.symmetry =
      symmetries.at(choose(words, "symmetry", {"general", "symmetric", "skew-symmetric", "hermitian"}));
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
    throw words.fault(fmt::format("{} {}: the maximum is {}", word, what, limit));
  }
  return size;
}

/// Number of values of an array file. Sizes are below 2^31, so that the products do not overflow.
std::int64_t array_entries(const Header& header) {
  const std::int64_t n = header.rows;
  if (header.symmetry == Symmetry::general) return n * header.columns;
  return header.symmetry == Symmetry::skew_symmetric ? n * (n - 1) / 2 : n * (n + 1) / 2;
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

/// Calls `parse(line)` and turns a Fault into a ParseError with its line and column.
template <class Parse>
void parse_line(const std::string& line, std::int64_t number, const std::string& name, Parse parse) {
  try {
    parse(line);
  } catch (const Fault& fault) {
    throw ParseError(name, number, fault.at - line.data() + 1, fault.reason);
  }
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

std::string not_hermitian(std::int64_t row) {
  return fmt::format(
      "row {}: the diagonal element has an imaginary part, and that of a Hermitian matrix is real; if the "
      "matrix is complex symmetric, its header should say symmetric",
      row + 1);
}

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

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "io/harwell_boeing/fortran_format.hpp"
#include "io/support/complex_numbers.hpp"
#include "io/support/csr_assembly.hpp"
#include "io/support/sources.hpp"
#include "io/text/line_blocks.hpp"
#include "io/text/numbers.hpp"
#include "support/scalar.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

namespace echelon {

namespace io {

namespace {

struct HarwellBoeingHeader {
  std::string title;
  std::string key;
  char field = 'R';     ///< R, I, P, C
  char symmetry = 'U';  ///< U, R, S, Z, H
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;
  FortranFormat pointers;
  FortranFormat indices;
  FortranFormat values;
  FortranFormat right_hand_sides;
  std::int64_t right_hand_side_lines = 0;
  std::int64_t right_hand_side_count = 0;
  /// Number of blocks that follow the right-hand sides with their size: starting guesses, solutions.
  int more_blocks = 0;
};

/// Lines in sequence, and the position of a fault in the file.
class LineReader {
 public:
  LineReader(TextSource& source, std::string name) : blocks_(source, block_bytes), name_(std::move(name)) {}

  /// Throws ParseError at the file's end; `missing` names the expected content.
  const std::string& next(const std::string& missing) {
    if (!try_next())
      throw ParseError(name_, number_, 1, fmt::format("the file ends before {}; is it cut off?", missing));
    return line_;
  }
  bool try_next() {
    ++number_;
    if (blocks_.next_line(line_)) return true;
    if (blocks_.failure())
      throw ParseError(name_, number_, blocks_.failure()->column, blocks_.failure()->reason);
    line_.clear();
    return false;
  }
  [[nodiscard]] const std::string& line() const { return line_; }
  /// Throws the ParseError for a fault in the current line.
  [[noreturn]] void fail(const Fault& fault) const {
    throw ParseError(name_, number_, fault.at - line_.data() + 1, fault.reason);
  }
  [[noreturn]] void fail(const std::string& reason) const { throw ParseError(name_, number_, 1, reason); }

 private:
  static constexpr std::size_t block_bytes = std::size_t{1} << 18;
  LineBlocks blocks_;
  std::string name_;
  std::string line_;
  std::int64_t number_ = 0;
};

/// Columns of a line from `begin`, fewer than `width` where the line ends.
std::string_view columns_of(const std::string& line, std::size_t begin, std::size_t width) {
  return std::string_view(line).substr(std::min(begin, line.size()), width);
}

/// Parses nonnegative whole numbers separated by blanks, at least `least` of them.
std::vector<std::int64_t> parse_counts(std::string_view text, std::size_t least, const char* what) {
  std::vector<std::int64_t> counts;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (at = skip_blanks(at, end); at != end; at = skip_blanks(at, end)) {
    const std::string_view word = word_at(at, end);
    const std::int64_t count = parse_fortran_integer(word);
    if (count < 0) throw Fault{at, fmt::format("{} where a number from 0 is expected", quoted(word))};
    counts.push_back(count);
    at += word.size();
  }
  if (counts.size() < least) throw Fault{end, fmt::format("{} are expected on this line", what)};
  return counts;
}

void parse_type(std::string_view text, HarwellBoeingHeader& header) {
  const std::string_view word = word_at(text.data(), text.data() + text.size());
  const std::string type = lower_case(word);
  if (type.size() != 3)
    throw Fault{text.data(), fmt::format("{} where a type like RUA is expected", quoted(word))};
  const auto letter = [&](std::size_t k, std::string_view known, const char* what) {
    if (known.find(type[k]) == std::string_view::npos) {
      throw Fault{text.data() + k, fmt::format("type {}: {}", quoted(word), what)};
    }
    return static_cast<char>(std::toupper(static_cast<unsigned char>(type[k])));
  };
  header.field = letter(0, "ripc", "the first letter should be R, I, P or C");
  header.symmetry = letter(1, "usrzh", "the second letter should be U, S, H, Z or R");
  if (header.symmetry == 'H' && header.field != 'C') header.symmetry = 'S';
  static_cast<void>(letter(2, "a",
                           type[2] == 'e' ? "elemental matrices are not supported, only assembled ones"
                                          : "the third letter should be A"));
  if (header.field == 'P' && header.symmetry == 'Z') {
    throw Fault{text.data(), "a pattern has no signs and cannot be skew-symmetric"};
  }
}

void parse_sizes(const std::string& line, HarwellBoeingHeader& header) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const std::size_t type_at = std::min(line.find_first_not_of(" \t"), line.size());
  parse_type(columns_of(line, type_at, line.size()), header);
  const auto counts =
      parse_counts(columns_of(line, type_at + 3, line.size()), 3, "the numbers of rows, columns and entries");
  header.rows = counts[0];
  header.columns = counts[1];
  header.entries = counts[2];
  if (header.rows > most || header.columns > most) {
    throw Fault{line.data(), fmt::format("{} by {}: the maximum is {} rows and columns", header.rows,
                                         header.columns, most)};
  }
  if (header.symmetry != 'R' && header.symmetry != 'U' && header.rows != header.columns) {
    throw Fault{line.data(), fmt::format("a {} by {} matrix is not square and cannot be symmetric",
                                         header.rows, header.columns)};
  }
}

/// Removes the next text in parentheses from `rest` and returns it.
std::string_view take_format(std::string_view& rest, const char* what) {
  const std::size_t begin = rest.find('(');
  if (begin == std::string_view::npos)
    throw Fault{rest.data() + rest.size(), fmt::format("the format of the {} is missing", what)};
  int depth = 0;
  std::size_t end = begin;
  for (; end < rest.size(); ++end) {
    depth += rest[end] == '(' ? 1 : rest[end] == ')' ? -1 : 0;
    if (depth == 0) break;
  }
  const std::string_view format = rest.substr(begin, end + 1 - begin);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return format;
}

bool has_whole_numbers(const FortranFormat& format) {
  const auto is_whole = [](const FortranField& field) { return field.kind == 'I'; };
  return std::all_of(format.first.begin(), format.first.end(), [&](const FortranLine& line) {
    return std::all_of(line.begin(), line.end(), is_whole);
  });
}

void parse_formats(const std::string& line, HarwellBoeingHeader& header) {
  std::string_view rest = line;
  header.pointers = parse_fortran_format(take_format(rest, "column pointers"));
  header.indices = parse_fortran_format(take_format(rest, "row indices"));
  if (!has_whole_numbers(header.pointers) || !has_whole_numbers(header.indices)) {
    throw Fault{line.data(), "the formats of pointers and indices must be whole numbers, like (16I5)"};
  }
  if (header.field != 'P') header.values = parse_fortran_format(take_format(rest, "values"));
  if (header.right_hand_side_lines == 0) return;
  // The format of the values may be blank for a pattern, or be present although it has none.
  header.right_hand_sides = parse_fortran_format(take_format(rest, "right-hand sides"));
  if (header.field == 'P' && rest.find('(') != std::string_view::npos) {
    header.right_hand_sides = parse_fortran_format(take_format(rest, "right-hand sides"));
  }
}

void parse_right_hand_side_type(const std::string& line, HarwellBoeingHeader& header) {
  const std::string type = lower_case(columns_of(line, 0, 3));
  if (type.empty() || type[0] != 'f') {
    throw Fault{line.data(), "only full right-hand sides (type F) are supported"};
  }
  header.more_blocks =
      (type.find('g') != std::string::npos ? 1 : 0) + (type.find('x') != std::string::npos ? 1 : 0);
  const auto counts = parse_counts(columns_of(line, 3, line.size()), 1, "the number of right-hand sides");
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (counts[0] > most)
    throw Fault{line.data(), fmt::format("{} right-hand sides: the maximum is {}", counts[0], most)};
  header.right_hand_side_count = counts[0];
}

HarwellBoeingHeader read_header(LineReader& lines) {
  HarwellBoeingHeader header;
  constexpr std::size_t title_width = 72;
  constexpr std::size_t key_width = 8;
  const auto trimmed = [](std::string_view text) {
    const std::size_t end = text.find_last_not_of(" \t\r");
    return std::string(text.substr(0, end == std::string_view::npos ? 0 : end + 1));
  };
  lines.next("the title");
  header.title = trimmed(columns_of(lines.line(), 0, title_width));
  header.key = trimmed(columns_of(lines.line(), title_width, key_width));
  try {
    const auto cards = parse_counts(lines.next("the numbers of lines"), 4, "four or five numbers of lines");
    header.right_hand_side_lines = cards.size() > 4 ? cards[4] : 0;
    parse_sizes(lines.next("the line with the matrix's type and size"), header);
    parse_formats(lines.next("the line with the formats"), header);
    if (header.right_hand_side_lines > 0)
      parse_right_hand_side_type(lines.next("the type of right-hand sides"), header);
  } catch (const Fault& fault) {
    lines.fail(fault);
  }
  return header;
}

/// The words of a line, which blanks separate.
std::vector<std::string_view> words_of(const std::string& line) {
  std::vector<std::string_view> words;
  const char* const end = line.data() + line.size();
  for (const char* at = skip_blanks(line.data(), end); at != end; at = skip_blanks(at, end)) {
    words.push_back(word_at(at, end));
    at += words.back().size();
  }
  return words;
}

bool is_number_in(std::string_view word, const FortranField& field) {
  try {
    static_cast<void>(parse_fortran_real<double>(word, field));
    return true;
  } catch (const Fault&) {
    return false;
  }
}

/// A field of a line and its text.
struct FortranFieldText {
  const FortranField* field = nullptr;
  std::string_view text;
};

/// True when the format's columns cut through the line's numbers although blanks separate them. SciPy's
/// hb_write announces fields of one column more than it writes. In Fortran's reading, a line of as many words
/// as fields has one word in each field, so that no border of two fields lies inside a word.
bool is_misaligned(const std::string& line, const std::vector<FortranFieldText>& fields) {
  const auto is_blank = [&line](std::size_t k) {
    return line[k] == ' ' || line[k] == '\t' || line[k] == '\r';
  };
  bool cut = false;
  for (std::size_t k = 1; k < fields.size(); ++k) {
    const FortranField& before = *fields[k - 1].field;
    const std::size_t border = fields[k].field->column;
    if (border >= line.size() || border != before.column + before.width) continue;
    cut = cut || (!is_blank(border - 1) && !is_blank(border));
  }
  if (!cut) return false;
  const std::vector<std::string_view> words = words_of(line);
  return std::equal(
      words.begin(), words.end(), fields.begin(), fields.end(),
      [](std::string_view word, const FortranFieldText& field) { return is_number_in(word, *field.field); });
}

/// The first `count` fields of a line by the columns of its format, or by blanks where those columns do not
/// fit the line.
std::vector<FortranFieldText> fields_of(const std::string& line, const FortranLine& format,
                                        std::size_t count) {
  std::vector<FortranFieldText> fields;
  for (std::size_t k = 0; k < count; ++k) {
    fields.push_back({&format[k], columns_of(line, format[k].column, format[k].width)});
  }
  if (is_misaligned(line, fields)) {
    const std::vector<std::string_view> words = words_of(line);
    for (std::size_t k = 0; k < count; ++k) fields[k].text = words[k];
  }
  return fields;
}

/// Calls `use(text, field)` for `count` fields, which begin on a new line. `use` may throw Fault.
template <class Use>
void for_each_field(LineReader& lines, const FortranFormat& format, std::int64_t count,
                    const std::string& what, Use use) {
  const std::string missing = fmt::format("the {} {} are complete", count, what);
  std::int64_t left = count;
  for (const std::vector<FortranLine>* pass = &format.first; left > 0; pass = &format.further) {
    for (const FortranLine& fields : *pass) {
      // A slash at the format's end calls for one line more, which a file's end may lack.
      if (left == 0 && !lines.try_next()) return;
      const std::string& line = left == 0 ? lines.line() : lines.next(missing);
      const auto size = std::min<std::int64_t>(std::ssize(fields), left);
      try {
        for (const FortranFieldText& each : fields_of(line, fields, static_cast<std::size_t>(size))) {
          use(each.text, *each.field);
        }
      } catch (const Fault& fault) {
        lines.fail(fault);
      }
      left -= size;
      if (size < std::ssize(fields)) return;
    }
  }
}

template <class R>
R parse_value(std::string_view text, const FortranField& field) {
  return field.kind == 'I' ? static_cast<R>(parse_fortran_integer(text)) : parse_fortran_real<R>(text, field);
}

/// The matrix by columns, as stored in the file.
template <class T>
struct StoredColumns {
  std::vector<std::int64_t> pointers;
  std::vector<std::int32_t> rows;
  std::vector<T> values;  ///< empty for a pattern
};

template <class T>
class HarwellBoeingReader {
 public:
  HarwellBoeingReader(TextSource& source, const std::string& name)
      : name_(name), lines_(source, name), header_(read_header(lines_)) {
    constexpr std::int64_t line_of_type = 3;
    if (!is_complex<T> && header_.field == 'C') throw ComplexNumbers(name, line_of_type, 1);
  }

  HarwellBoeingFile<T> read() {
    StoredColumns<T> columns;
    read_pointers(columns);
    read_rows(columns);
    if (header_.field != 'P')
      for_each_value(header_.values, header_.entries, "values",
                     [&](T value) { columns.values.push_back(value); });
    HarwellBoeingFile<T> file;
    file.right_hand_sides = read_right_hand_sides();
    check_end();
    file.title = header_.title;
    file.key = header_.key;
    file.info = describe();
    file.matrix = assemble(columns, file.info);
    return file;
  }

 private:
  /// Calls `use` for `count` values; complex ones are a real and an imaginary part in two fields.
  template <class Use>
  void for_each_value(const FortranFormat& format, std::int64_t count, const char* what, Use use) {
    using R = Real<T>;
    std::optional<R> real_part;
    const bool pairs = header_.field == 'C';
    for_each_field(lines_, format, pairs ? 2 * count : count, what,
                   [&](std::string_view text, const FortranField& field) {
                     const R number = parse_value<R>(text, field);
                     if (!pairs) return use(T{number});
                     if constexpr (is_complex<T>) {
                       if (real_part) use(T{*real_part, number});
                       real_part = real_part ? std::nullopt : std::optional<R>(number);
                     }
                   });
  }

  void read_pointers(StoredColumns<T>& columns) {
    std::int64_t previous = 1;
    const auto take = [&](std::string_view text, const FortranField&) {
      const std::int64_t pointer = parse_fortran_integer(text);
      const bool first = columns.pointers.empty();
      if (pointer < previous || pointer - 1 > header_.entries || (first && pointer != 1)) {
        throw Fault{text.data(), fmt::format("{} where a column pointer from {} to {} is expected", pointer,
                                             previous, first ? 1 : header_.entries + 1)};
      }
      columns.pointers.push_back(pointer - 1);
      previous = pointer;
    };
    for_each_field(lines_, header_.pointers, header_.columns + 1, "column pointers", take);
    if (columns.pointers.back() != header_.entries) {
      lines_.fail(fmt::format("the columns end after {} of the {} entries", columns.pointers.back(),
                              header_.entries));
    }
  }

  void read_rows(StoredColumns<T>& columns) {
    std::size_t column = 0;
    const auto take = [&](std::string_view text, const FortranField&) {
      const std::int64_t row = parse_fortran_integer(text);
      if (row < 1 || row > header_.rows) {
        throw Fault{text.data(), fmt::format("row {} of a matrix with {} rows", row, header_.rows)};
      }
      while (columns.pointers[column + 1] <= static_cast<std::int64_t>(columns.rows.size())) ++column;
      check_triangle(text, row - 1, static_cast<std::int64_t>(column));
      columns.rows.push_back(static_cast<std::int32_t>(row - 1));
    };
    for_each_field(lines_, header_.indices, header_.entries, "row indices", take);
  }

  /// The file stores one triangle; the first entry off the diagonal decides which one.
  void check_triangle(std::string_view text, std::int64_t row, std::int64_t column) {
    if (!mirrored() || row == column) return;
    const bool upper = row < column;
    if (upper_.value_or(upper) != upper) {
      throw Fault{text.data(),
                  fmt::format("entry ({}, {}) is {} the diagonal, others are {} it: a symmetric file "
                              "stores one triangle only",
                              row + 1, column + 1, upper ? "above" : "below", upper ? "below" : "above")};
    }
    upper_ = upper;
  }

  Dense<T> read_right_hand_sides() {
    const std::int64_t count = header_.rows * header_.right_hand_side_count;
    std::vector<T> values;
    const auto read_block = [&](const char* what, auto use) {
      for_each_value(header_.right_hand_sides, count, what, use);
    };
    if (count == 0) return Dense<T>(Device(), header_.rows, 0);
    read_block("values of right-hand sides", [&](T value) { values.push_back(value); });
    for (int k = 0; k < header_.more_blocks; ++k) read_block("values of guesses or solutions", [](T) {});
    return {header_.rows, header_.right_hand_side_count, Array<T>(Device(), std::span<const T>(values))};
  }

  void check_end() {
    while (lines_.try_next()) {
      const std::string& line = lines_.line();
      const char* const end = line.data() + line.size();
      const char* const at = skip_blanks(line.data(), end);
      if (at != end) lines_.fail(Fault{at, "more data than the header announces"});
    }
  }

  [[nodiscard]] bool mirrored() const { return header_.symmetry != 'U' && header_.symmetry != 'R'; }
  [[nodiscard]] T mirror(T value) const {
    if (header_.symmetry == 'H') return conj(value);
    return header_.symmetry == 'Z' ? -value : value;
  }

  [[nodiscard]] FileInfo describe() const {
    FileInfo info;
    info.format = FileFormat::harwell_boeing;
    info.field = header_.field == 'R'   ? "real"
                 : header_.field == 'I' ? "integer"
                 : header_.field == 'C' ? "complex"
                                        : "pattern";
    info.symmetry = header_.symmetry == 'S'   ? "symmetric"
                    : header_.symmetry == 'Z' ? "skew-symmetric"
                    : header_.symmetry == 'H' ? "hermitian"
                                              : "general";
    info.rows = header_.rows;
    info.columns = header_.columns;
    info.stored_entries = header_.entries;
    return info;
  }

  /// Calls `use(row, column, value)` for all entries and their mirror images.
  template <class Use>
  void for_each_element(const StoredColumns<T>& columns, Use use) const {
    for (std::size_t j = 0; j + 1 < columns.pointers.size(); ++j) {
      const auto column = static_cast<std::int32_t>(j);
      for (std::int64_t k = columns.pointers[j]; k < columns.pointers[j + 1]; ++k) {
        const std::int32_t row = columns.rows[static_cast<std::size_t>(k)];
        const T value = columns.values.empty() ? T{1} : columns.values[static_cast<std::size_t>(k)];
        use(row, column, value);
        if (mirrored() && row != column) use(column, row, mirror(value));
      }
    }
  }

  Csr<T> assemble(const StoredColumns<T>& columns, FileInfo& info) const {
    CsrAssembly<T> assembly(header_.rows, header_.columns);
    for_each_element(columns, [&](std::int32_t row, std::int32_t column, T value) {
      if (row == column && mirror(value) != value) {
        throw ParseError(name_, 0, 0,
                         fmt::format("element ({}, {}): the diagonal of a {} matrix is {}", row + 1,
                                     column + 1, info.symmetry, header_.symmetry == 'Z' ? "zero" : "real"));
      }
      assembly.count(row);
    });
    assembly.allocate();
    for_each_element(
        columns, [&](std::int32_t row, std::int32_t column, T value) { assembly.place(row, column, value); });
    const auto duplicates = assembly.sort_and_sum(1);
    if (duplicates.overflow) {
      throw ParseError(
          name_, 0, 0,
          fmt::format("the entries given for row {}, column {} add up to more than the type can hold",
                      duplicates.overflow->first + 1, duplicates.overflow->second + 1));
    }
    info.duplicate_entries = duplicates.on_diagonal + duplicates.off_diagonal / (mirrored() ? 2 : 1);
    return std::move(assembly).finish();
  }

  std::string name_;
  LineReader lines_;
  HarwellBoeingHeader header_;
  std::optional<bool> upper_;
};

}  // namespace

template <class T>
HarwellBoeingFile<T> read_harwell_boeing_source(TextSource& source, const std::string& name) {
  return HarwellBoeingReader<T>(source, name).read();
}

#define ECHELON_INSTANTIATE(T) \
  template HarwellBoeingFile<T> read_harwell_boeing_source(TextSource&, const std::string&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace io

template <class T>
HarwellBoeingFile<T> read_harwell_boeing(const std::string& path) {
  return at_api_boundary([&] { return io::read_harwell_boeing_source<T>(*io::open_text(path), path); });
}

#define ECHELON_INSTANTIATE(T) template HarwellBoeingFile<T> read_harwell_boeing(const std::string&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

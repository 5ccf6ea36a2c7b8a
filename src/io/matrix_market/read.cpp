// SPDX-License-Identifier: BSD-3-Clause
// The text is read twice: the first pass counts the entries of each row, the second stores them. Memory is
// that of the result; keeping all entries until their number is known would double it.
#include "backend/api_boundary.hpp"
#include "io/matrix_market/parse.hpp"
#include "io/support/complex_numbers.hpp"
#include "io/support/csr_assembly.hpp"
#include "io/support/sources.hpp"
#include "io/text/line_blocks.hpp"
#include "io/text/position.hpp"
#include "support/scalar.hpp"

#include <echelon/error.hpp>
#include <echelon/io/matrix_market.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

namespace echelon::io {

namespace {

constexpr const char* changed = "the file was changed while it was being read";

/// Checks the entries in file order and tracks their position in the file.
class EntryChecker {
 public:
  EntryChecker(const std::string& name, const Header& header)
      : header_(header), position_(name, header.lines + 1) {}

  /// Throws ParseError for the first fault of the block.
  template <class T>
  void take(std::string_view text, const Entries<T>& entries) {
    const auto count = static_cast<std::int64_t>(entries.list.size());
    const std::int64_t due = std::min(count, header_.entries - seen_);
    if (header_.symmetry != Symmetry::general) check_triangle(text, entries, due);
    if (due < count || (entries.fault && seen_ + due == header_.entries)) {
      position_.fail(text, data_line(text, due),
                     fmt::format("more data than the {} {} that line {} announces", header_.entries, noun(),
                                 header_.lines));
    }
    if (entries.fault) position_.fail(text, entries.fault->at, entries.fault->reason);
    seen_ += count;
    position_.pass(text, entries.line_ends);
  }

  /// Throws ParseError if the text ended too early.
  void finish(const LineBlocks& blocks) const {
    position_.finish(blocks);
    if (seen_ < header_.entries) {
      position_.fail(fmt::format("the file ends after {} of the {} {} that line {} announces; is it cut off?",
                                 seen_, header_.entries, noun(), header_.lines));
    }
  }

 private:
  [[nodiscard]] const char* noun() const {
    return header_.format == Format::coordinate ? "entries" : "values";
  }

  /// Checks that a symmetric file stores one triangle only; the first entry decides which one. If both were
  /// stored, filling in would double the entries.
  template <class T>
  void check_triangle(std::string_view text, const Entries<T>& entries, std::int64_t due) {
    for (std::int64_t k = 0; k < due; ++k) {
      const Entry<T>& entry = entries.list[static_cast<std::size_t>(k)];
      if (entry.row == entry.column) continue;
      const bool upper = entry.row < entry.column;
      if (upper_.value_or(upper) != upper) {
        position_.fail(
            text, data_line(text, k),
            fmt::format("entry ({}, {}) is {} the diagonal, others are {} it: a symmetric file stores one "
                        "triangle only; if this one stores both, its header should say general",
                        entry.row + 1, entry.column + 1, upper ? "above" : "below",
                        upper ? "below" : "above"));
      }
      upper_ = upper;
    }
  }

  Header header_;
  TextPosition position_;
  std::int64_t seen_ = 0;
  std::optional<bool> upper_;
};

/// A source with its header, for several passes over it.
class Reader {
 public:
  Reader(TextSource& source, std::string name, const ReadOptions& options)
      : source_(source), name_(std::move(name)), options_(options) {
    LineBlocks blocks(source_, options_.block_bytes);
    header_ = read_header(blocks, name_);
    threads_ = reading_threads(source, options);
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Header& header() const { return header_; }
  [[nodiscard]] const TextSource& source() const { return source_; }
  [[nodiscard]] int threads() const { return threads_; }
  [[noreturn]] void fail(const std::string& reason) const { throw ParseError(name_, 0, 0, reason); }

  /// Calls `use(entry)` for all entries in file order. Throws ParseError, which for Values::read is about the
  /// first error in the file.
  template <class T, Values values, class Use>
  void pass(Use use) const {
    LineBlocks blocks(source_, options_.block_bytes);
    if (read_header(blocks, name_) != header_) fail(changed);
    EntryChecker progress(name_, header_);
    for_each_block<Entries<T>>(
        blocks, threads_,
        [this](std::string_view text, Entries<T>& entries) {
          parse_entries<T, values>(text, header_, entries);
        },
        [&](std::string_view text, const Entries<T>& entries) {
          progress.take(text, entries);
          for (const Entry<T>& entry : entries.list) use(entry);
        });
    progress.finish(blocks);
  }

  /// Throws ParseError for the first error in the file, if there is one.
  template <class T>
  void check() const {
    pass<T, Values::read>([](const Entry<T>&) {});
  }

  /// First pass, which skips the values. If it finds an error, a full pass checks whether a bad value comes
  /// before.
  template <class T, class Use>
  void scan(Use use) const {
    try {
      pass<T, Values::skip>(use);
    } catch (const ParseError&) {
      check<T>();
      throw;
    }
  }

 private:
  TextSource& source_;
  std::string name_;
  ReadOptions options_;
  Header header_;
  int threads_ = 1;
};

/// The element at the mirrored place of one in a file of this symmetry.
template <class T>
T mirrored(Symmetry symmetry, T value) {
  if (symmetry == Symmetry::skew_symmetric) return -value;
  return symmetry == Symmetry::hermitian ? conj(value) : value;
}

/// Calls `use(row, column, value)` for an entry and, in a symmetric file, for its mirror image.
template <class T, class Use>
void for_both_triangles(const Header& header, const Entry<T>& entry, Use use) {
  use(entry.row, entry.column, entry.value);
  if (header.symmetry == Symmetry::general || entry.row == entry.column) return;
  use(entry.column, entry.row, mirrored(header.symmetry, entry.value));
}

/// Checks the size of the row offsets, which comes from the header alone. If it is out of proportion to the
/// file, the whole file is checked before they are allocated.
template <class T>
void check_before_large_claim(const Reader& reader) {
  constexpr std::int64_t harmless = std::int64_t{64} << 20;
  const auto claim = reader.header().rows * static_cast<std::int64_t>(sizeof(std::int64_t));
  if (claim > std::max(harmless, 8 * reader.source().stored_bytes())) reader.check<T>();
}

template <class T>
Csr<T> read_coordinate(const Reader& reader, MatrixMarketInfo& info) {
  const Header& header = reader.header();
  check_before_large_claim<T>(reader);
  CsrAssembly<T> assembly(header.rows, header.columns);
  reader.scan<T>([&](const Entry<T>& entry) {
    for_both_triangles(header, entry, [&](std::int32_t row, std::int32_t, T) { assembly.count(row); });
  });
  assembly.allocate();
  reader.pass<T, Values::read>([&](const Entry<T>& entry) {
    for_both_triangles(header, entry, [&](std::int32_t row, std::int32_t column, T value) {
      if (!assembly.place(row, column, value)) reader.fail(changed);
    });
  });
  const auto duplicates = assembly.sort_and_sum(reader.threads());
  if (duplicates.overflow) {
    reader.fail(fmt::format("the entries given for row {}, column {} add up to more than the type can hold",
                            duplicates.overflow->first + 1, duplicates.overflow->second + 1));
  }
  const int copies = header.symmetry == Symmetry::general ? 1 : 2;
  info.duplicate_entries = duplicates.on_diagonal + duplicates.off_diagonal / copies;
  return std::move(assembly).finish();
}

template <class T>
Dense<T> read_array(const Reader& reader) {
  const Header& header = reader.header();
  reader.scan<T>([](const Entry<T>&) {});
  Dense<T> matrix(Device(), header.rows, header.columns);
  const bool skew = header.symmetry == Symmetry::skew_symmetric;
  for (std::int64_t i = 0; skew && i < header.rows; ++i) matrix(i, i) = 0;
  const auto first_row = [&](std::int64_t j) {
    return header.symmetry == Symmetry::general ? 0 : j + (skew ? 1 : 0);
  };
  std::int64_t j = 0;
  std::int64_t i = first_row(0);
  reader.pass<T, Values::read>([&](const Entry<T>& entry) {
    matrix(i, j) = entry.value;
    if (header.symmetry != Symmetry::general) matrix(j, i) = mirrored(header.symmetry, entry.value);
    if (header.symmetry == Symmetry::hermitian && i == j && entry.value != conj(entry.value))
      reader.fail(not_hermitian(i));
    if (++i == header.rows) i = first_row(++j);
  });
  return matrix;
}

MatrixMarketInfo describe(const Header& header) {
  MatrixMarketInfo info;
  info.coordinate = header.format == Format::coordinate;
  constexpr std::array fields = {"real", "complex", "integer", "pattern"};
  constexpr std::array symmetries = {"general", "symmetric", "skew-symmetric", "hermitian"};
  info.field = fields.at(static_cast<std::size_t>(header.field));
  info.symmetry = symmetries.at(static_cast<std::size_t>(header.symmetry));
  info.rows = header.rows;
  info.columns = header.columns;
  info.stored_entries = header.entries;
  return info;
}

}  // namespace

template <class T>
MatrixMarketFile<T> read_matrix_market_source(TextSource& source, const std::string& name,
                                              const ReadOptions& options) {
  const Reader reader(source, name, options);
  if (!is_complex<T> && reader.header().field == Field::complex)
    throw ComplexNumbers(name, 1, reader.header().field_column);
  MatrixMarketFile<T> file;
  file.info = describe(reader.header());
  if (file.info.coordinate) {
    file.matrix = read_coordinate<T>(reader, file.info);
  } else {
    file.matrix = read_array<T>(reader);
  }
  return file;
}

#define ECHELON_INSTANTIATE(T) \
  template MatrixMarketFile<T> read_matrix_market_source(TextSource&, const std::string&, const ReadOptions&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::io

namespace echelon {

template <class T>
MatrixMarketFile<T> read_matrix_market_file(const std::string& path, int threads) {
  return at_api_boundary(
      [&] { return io::read_matrix_market_source<T>(*io::open_text(path), path, {.threads = threads}); });
}

template <class T>
Csr<T> read_matrix_market(const std::string& path) {
  Matrix<T> matrix = read_matrix_market_file<T>(path).matrix;
  if (auto* csr = std::get_if<Csr<T>>(&matrix)) return std::move(*csr);
  return to_csr(MatrixRef<T>(matrix));
}

template <class T>
Dense<T> read_matrix_market_dense(const std::string& path) {
  Matrix<T> matrix = read_matrix_market_file<T>(path).matrix;
  if (auto* dense = std::get_if<Dense<T>>(&matrix)) return std::move(*dense);
  return to_dense(MatrixRef<T>(matrix));
}

#define ECHELON_INSTANTIATE(T)                                                   \
  template MatrixMarketFile<T> read_matrix_market_file(const std::string&, int); \
  template Csr<T> read_matrix_market(const std::string&);                        \
  template Dense<T> read_matrix_market_dense(const std::string&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

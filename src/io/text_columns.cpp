// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "io/support/host_matrix.hpp"
#include "io/support/output_file.hpp"
#include "io/support/sources.hpp"
#include "io/text/content.hpp"
#include "io/text/numbers.hpp"
#include "io/text/position.hpp"
#include "io/text/writer.hpp"

#include <echelon/io/text_columns.hpp>

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace echelon {

namespace io {

namespace {

/// The rows in a block of lines, up to the first fault.
template <class T>
struct ParsedRows {
  std::vector<T> values;  ///< row after row
  std::int64_t count = 0;
  std::optional<Fault> fault;
  std::int64_t line_ends = 0;
};

/// Appends the numbers of the line that starts at `at`, which must be `columns`, and moves `at` to the line's
/// end.
template <class T>
void parse_row(const char*& at, const char* end, std::int64_t columns, std::vector<T>& values) {
  const char* const line_stop = line_end(at, end);
  char separator = '\0';
  for (std::int64_t k = 0;; ++k) {
    const char* const word_stop = field_end(at, line_stop);
    if (k == columns) {
      throw Fault{at, fmt::format("more numbers than the {} of the first row", columns)};
    }
    const char* word = at;
    values.push_back(parse_real<T>(word, word_stop));
    at = skip_blanks(word_stop, line_stop);
    if (at == line_stop && k + 1 == columns) return;
    if (at == line_stop)
      throw Fault{at, fmt::format("{} numbers where the first row has {}", k + 1, columns)};
    if (!is_separator(*at)) continue;
    if (separator != '\0' && separator != *at) {
      throw Fault{at, "a line with commas and semicolons; are the commas decimal points?"};
    }
    separator = *at;
    at = skip_blanks(at + 1, line_stop);
  }
}

template <class T>
void parse_rows(std::string_view text, std::int64_t columns, ParsedRows<T>& rows) {
  rows = {};
  const char* at = text.data();
  const char* const end = at + text.size();
  try {
    while (at != end) {
      at = skip_blanks(at, end);
      if (at != end && is_comment({at, 1})) {
        at = line_end(at, end);
      } else if (at != end && *at != '\n') {
        parse_row(at, end, columns, rows.values);
        ++rows.count;
      }
      if (at != end) {
        ++at;
        ++rows.line_ends;
      }
    }
  } catch (Fault& fault) {
    rows.fault = std::move(fault);
  }
}

/// Lines before the first row, and the number of columns in that row.
struct FirstRow {
  std::int64_t lines = 0;
  std::int64_t columns = 0;
};

FirstRow read_start(LineBlocks& blocks) {
  FirstRow start;
  std::string line;
  for (bool header_seen = false; blocks.next_line(line); ++start.lines) {
    const std::vector<std::string_view> fields = fields_of_line(line);
    if (fields.empty() || is_comment(fields.front())) continue;
    if (is_table_header(fields.front()) && !std::exchange(header_seen, true)) continue;
    start.columns = std::ssize(fields);
    break;
  }
  return start;
}

template <class T>
Dense<T> joined(std::vector<ParsedRows<T>>& blocks, std::int64_t rows, std::int64_t columns) {
  Dense<T> matrix(Device(), rows, columns);
  std::int64_t first = 0;
  for (ParsedRows<T>& block : blocks) {
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i < block.count; ++i) {
        matrix(first + i, j) = block.values[static_cast<std::size_t>(i * columns + j)];
      }
    }
    first += block.count;
    block = {};
  }
  return matrix;
}

}  // namespace

template <class T>
Dense<T> read_text_columns_source(TextSource& source, const std::string& name, const ReadOptions& options) {
  FirstRow start;
  {
    LineBlocks blocks(source, options.block_bytes);
    start = read_start(blocks);
  }
  LineBlocks blocks(source, options.block_bytes);
  std::string line;
  for (std::int64_t k = 0; k < start.lines; ++k) blocks.next_line(line);
  TextPosition position(name, start.lines + 1);
  std::vector<ParsedRows<T>> kept;
  std::int64_t rows = 0;
  for_each_block<ParsedRows<T>>(
      blocks, reading_threads(source, options),
      [&](std::string_view text, ParsedRows<T>& block) { parse_rows(text, start.columns, block); },
      [&](std::string_view text, ParsedRows<T>& block) {
        if (block.fault) position.fail(text, block.fault->at, block.fault->reason);
        position.pass(text, block.line_ends);
        rows += block.count;
        block.values.shrink_to_fit();
        kept.push_back(std::move(block));
      });
  position.finish(blocks);
  return joined(kept, rows, start.columns);
}

template <class T>
void write_text_columns_sink(TextSink& sink, DenseView<const T> matrix, char separator) {
  const HostMatrix<T> host{MatrixRef<T>(matrix)};
  const DenseView<const T>& view = host.dense();
  TextWriter text(sink);
  const std::int64_t rows = view.columns() > 0 ? view.rows() : 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    text.number(view(i, 0));
    for (std::int64_t j = 1; j < view.columns(); ++j) text.put(separator).number(view(i, j));
    text.end_line();
  }
  text.flush();
}

template Dense<float> read_text_columns_source(TextSource&, const std::string&, const ReadOptions&);
template Dense<double> read_text_columns_source(TextSource&, const std::string&, const ReadOptions&);
template void write_text_columns_sink(TextSink&, DenseView<const float>, char);
template void write_text_columns_sink(TextSink&, DenseView<const double>, char);

}  // namespace io

template <class T>
Dense<T> read_text_columns(const std::string& path, int threads) {
  return at_api_boundary([&] {
    return io::read_text_columns_source<T>(*io::open_text(path), path,
                                           {.threads = threads, .block_bytes = io::text_columns_block_bytes});
  });
}

template <class T>
void write_text_columns(const std::string& path, DenseView<const T> matrix, char separator) {
  io::write_file(path, [&](io::TextSink& file) { io::write_text_columns_sink(file, matrix, separator); });
}

template Dense<float> read_text_columns(const std::string&, int);
template Dense<double> read_text_columns(const std::string&, int);
template void write_text_columns(const std::string&, DenseView<const float>, char);
template void write_text_columns(const std::string&, DenseView<const double>, char);

}  // namespace echelon

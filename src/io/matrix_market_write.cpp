// SPDX-License-Identifier: BSD-3-Clause
#include "io/output_file.hpp"

#include <echelon/io/matrix_market.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <sstream>
#include <string>

namespace echelon {

namespace {

/// Gathers short pieces of text, so that the file gets long ones.
class Text {
 public:
  explicit Text(io::OutputFile& file) : file_(file) { buffer_.reserve(flush_at + longest_number); }

  template <class V>
  Text& number(V value) {
    const std::size_t size = buffer_.size();
    buffer_.resize(size + longest_number);
    const auto result = std::to_chars(buffer_.data() + size, buffer_.data() + buffer_.size(), value);
    buffer_.resize(static_cast<std::size_t>(result.ptr - buffer_.data()));
    return *this;
  }
  Text& space() {
    buffer_ += ' ';
    return *this;
  }
  void end_line() {
    buffer_ += '\n';
    if (buffer_.size() >= flush_at) flush();
  }
  void flush() {
    file_.write(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr std::size_t longest_number = 32;
  static constexpr std::size_t flush_at = std::size_t{1} << 18;
  io::OutputFile& file_;
  std::string buffer_;
};

void write_header(io::OutputFile& file, const char* format, const std::string& comment) {
  file.write(fmt::format("%%MatrixMarket matrix {} real general\n", format));
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) file.write("% " + line + "\n");
}

template <class T>
void write_entries(io::OutputFile& file, const Csr<T>& matrix) {
  Text text(file);
  text.number(matrix.rows()).space().number(matrix.columns()).space().number(matrix.nonzeros()).end_line();
  for (std::int64_t i = 0; i < matrix.rows(); ++i) {
    for (std::int64_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
      text.number(i + 1).space().number(matrix.column_indices()[k] + std::int64_t{1}).space();
      text.number(matrix.values()[k]).end_line();
    }
  }
  text.flush();
}

template <class T>
void write_entries(io::OutputFile& file, const DenseView<const T>& matrix) {
  Text text(file);
  text.number(matrix.rows).space().number(matrix.columns).end_line();
  for (std::int64_t j = 0; j < matrix.columns; ++j) {
    for (std::int64_t i = 0; i < matrix.rows; ++i) text.number(matrix(i, j)).end_line();
  }
  text.flush();
}

/// Elements from the first of the view to its last, with whatever lies between.
template <class T>
std::int64_t extent(const DenseView<const T>& view) {
  const bool by_column = view.layout == Layout::column_major;
  const std::int64_t lines = by_column ? view.columns : view.rows;
  const std::int64_t length = by_column ? view.rows : view.columns;
  return lines == 0 || length == 0 ? 0 : (lines - 1) * view.leading + length;
}

}  // namespace

template <class T>
void write_matrix_market(const std::string& path, MatrixRef<T> matrix, const std::string& comment) {
  const Device host;
  io::OutputFile file(path);
  write_header(file, matrix.is_sparse() ? "coordinate" : "array", comment);
  if (const Csr<T>* const sparse = matrix.csr()) {
    if (sparse->device().on_host()) {
      write_entries(file, *sparse);
    } else {
      write_entries(file, sparse->to(host));
    }
  } else {
    DenseView<const T> view = matrix.dense();
    Array<T> copy;
    if (!view.device.on_host()) {
      copy = Array<T>(host, extent(view));
      memory_detail::copy(host, copy.data(), view.device, view.data, copy.bytes());
      view.data = copy.data();
      view.device = host;
    }
    write_entries(file, view);
  }
  file.commit();
}

template void write_matrix_market(const std::string&, MatrixRef<float>, const std::string&);
template void write_matrix_market(const std::string&, MatrixRef<double>, const std::string&);

}  // namespace echelon

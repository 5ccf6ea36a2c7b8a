// SPDX-License-Identifier: BSD-3-Clause
#include "io/support/host_matrix.hpp"
#include "io/support/output_file.hpp"
#include "io/support/sources.hpp"
#include "io/text/writer.hpp"

#include <echelon/io/matrix_market.hpp>
#include <echelon/matrix/scalar.hpp>

#include <fmt/format.h>
#include <support/scalar_list.hpp>

#include <cstdint>
#include <sstream>
#include <string>

namespace echelon {

namespace {

void write_header(io::TextSink& sink, const char* format, const char* field, const std::string& comment) {
  sink.write(fmt::format("%%MatrixMarket matrix {} {} general\n", format, field));
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) sink.write("% " + line + "\n");
}

template <class T>
void write_value(io::TextWriter& text, T value) {
  if constexpr (is_complex<T>) {
    text.number(value.real()).space().number(value.imag()).end_line();
  } else {
    text.number(value).end_line();
  }
}

template <class T>
void write_entries(io::TextSink& sink, const Csr<T>& matrix) {
  io::TextWriter text(sink);
  text.number(matrix.rows()).space().number(matrix.columns()).space().number(matrix.nonzeros()).end_line();
  for (std::int64_t i = 0; i < matrix.rows(); ++i) {
    for (std::int64_t k = matrix.row_offsets()[i]; k < matrix.row_offsets()[i + 1]; ++k) {
      text.number(i + 1).space().number(matrix.column_indices()[k] + std::int64_t{1}).space();
      write_value(text, matrix.values()[k]);
    }
  }
  text.flush();
}

template <class T>
void write_entries(io::TextSink& sink, const DenseView<const T>& matrix) {
  io::TextWriter text(sink);
  text.number(matrix.rows()).space().number(matrix.columns()).end_line();
  const std::int64_t columns = matrix.rows() > 0 ? matrix.columns() : 0;
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < matrix.rows(); ++i) write_value(text, matrix(i, j));
  }
  text.flush();
}

}  // namespace

template <class T>
void io::write_matrix_market_sink(TextSink& sink, MatrixRef<T> matrix, const std::string& comment) {
  write_header(sink, matrix.is_sparse() ? "coordinate" : "array", is_complex<T> ? "complex" : "real",
               comment);
  const HostMatrix<T> host(matrix);
  if (const Csr<T>* const sparse = host.csr()) {
    write_entries(sink, *sparse);
  } else {
    write_entries(sink, host.dense());
  }
}

template <class T>
void write_matrix_market(const std::string& path, MatrixRef<T> matrix, const std::string& comment) {
  io::write_file(path, [&](io::TextSink& file) { io::write_matrix_market_sink(file, matrix, comment); });
}

#define ECHELON_INSTANTIATE(T)                                                             \
  template void io::write_matrix_market_sink(TextSink&, MatrixRef<T>, const std::string&); \
  template void write_matrix_market(const std::string&, MatrixRef<T>, const std::string&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

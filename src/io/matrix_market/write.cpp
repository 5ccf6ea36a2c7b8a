// SPDX-License-Identifier: BSD-3-Clause
#include "io/support/host_matrix.hpp"
#include "io/support/output_file.hpp"
#include "io/support/sources.hpp"
#include "io/text/writer.hpp"

#include <echelon/io/matrix_market.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <sstream>
#include <string>

namespace echelon {

namespace {

void write_header(io::TextSink& sink, const char* format, const std::string& comment) {
  sink.write(fmt::format("%%MatrixMarket matrix {} real general\n", format));
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) sink.write("% " + line + "\n");
}

template <class T>
void write_entries(io::TextSink& sink, const Csr<T>& matrix) {
  io::TextWriter text(sink);
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
void write_entries(io::TextSink& sink, const DenseView<const T>& matrix) {
  io::TextWriter text(sink);
  text.number(matrix.rows()).space().number(matrix.columns()).end_line();
  const std::int64_t columns = matrix.rows() > 0 ? matrix.columns() : 0;
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < matrix.rows(); ++i) text.number(matrix(i, j)).end_line();
  }
  text.flush();
}

}  // namespace

template <class T>
void io::write_matrix_market_sink(TextSink& sink, MatrixRef<T> matrix, const std::string& comment) {
  write_header(sink, matrix.is_sparse() ? "coordinate" : "array", comment);
  const HostMatrix<T> host(matrix);
  if (const Csr<T>* const sparse = host.csr()) {
    write_entries(sink, *sparse);
  } else {
    write_entries(sink, host.dense());
  }
}

template void io::write_matrix_market_sink(TextSink&, MatrixRef<float>, const std::string&);
template void io::write_matrix_market_sink(TextSink&, MatrixRef<double>, const std::string&);

template <class T>
void write_matrix_market(const std::string& path, MatrixRef<T> matrix, const std::string& comment) {
  io::write_file(path, [&](io::TextSink& file) { io::write_matrix_market_sink(file, matrix, comment); });
}

template void write_matrix_market(const std::string&, MatrixRef<float>, const std::string&);
template void write_matrix_market(const std::string&, MatrixRef<double>, const std::string&);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Matrix Market text from any source and to any sink; the public functions work on files through this.
#pragma once

#include "io/read_options.hpp"
#include "io/text_sink.hpp"
#include "io/text_source.hpp"

#include <echelon/io/matrix_market.hpp>

#include <string>

namespace echelon::io {

/// As read_matrix_market_file; `name` stands for the file in messages.
template <class T>
MatrixMarketFile<T> read_matrix_market_source(TextSource& source, const std::string& name,
                                              const ReadOptions& options = {});

/// As write_matrix_market.
template <class T>
void write_matrix_market_sink(TextSink& sink, MatrixRef<T> matrix, const std::string& comment = {});

}  // namespace echelon::io

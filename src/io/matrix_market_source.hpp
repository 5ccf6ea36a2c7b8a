// SPDX-License-Identifier: BSD-3-Clause
/// Reading Matrix Market text from any source; the public functions read files through this.
#pragma once

#include "io/text_source.hpp"

#include <echelon/io/matrix_market.hpp>

#include <cstddef>
#include <string>

namespace echelon::io {

struct ReadOptions {
  int threads = 0;  ///< 0: OpenMP's choice
  /// Text that one thread takes at a time; small enough to stay in its cache. No line may be longer.
  std::size_t block_bytes = std::size_t{1} << 18;
};

/// As read_matrix_market_file; `name` stands for the file in messages.
template <class T>
MatrixMarketFile<T> read_matrix_market_source(TextSource& source, const std::string& name,
                                              const ReadOptions& options = {});

}  // namespace echelon::io

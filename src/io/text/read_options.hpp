// SPDX-License-Identifier: BSD-3-Clause
/// Options for reading text of any format.
#pragma once

#include "io/text/source.hpp"

#include <echelon/device.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace echelon::io {

struct ReadOptions {
  int threads = 0;  ///< 0: OpenMP's choice
  /// Bytes that one thread parses at a time, few enough to stay in its cache. No line may be longer.
  std::size_t block_bytes = std::size_t{1} << 18;
};

/// Number of threads, at most that of the blocks.
inline int reading_threads(const TextSource& source, const ReadOptions& options) {
  const auto blocks_at_least = source.stored_bytes() / static_cast<std::int64_t>(options.block_bytes) + 1;
  return static_cast<int>(std::min<std::int64_t>(Device::openmp(options.threads).threads(), blocks_at_least));
}

}  // namespace echelon::io

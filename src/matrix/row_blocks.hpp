// SPDX-License-Identifier: BSD-3-Clause
/// Blocks of consecutive rows with about equally many nonzeros, for products on a GPU.
#pragma once

#include <echelon/annotate.hpp>
#include <echelon/csr.hpp>

#include <cstdint>
#include <mutex>

namespace echelon {

/// Nonzeros that a block has room for. A row that does not fit is cut into pieces of as many.
inline constexpr std::int64_t row_block_size = 2048;

/// A block stages its nonzeros from a multiple of this on: 16 bytes of values in float.
inline constexpr std::int64_t row_block_alignment = 4;

/// Whether a block has room for the nonzeros [begin, end).
ECHELON_ANYWHERE inline bool fits_row_block(std::int64_t begin, std::int64_t end) {
  return end - begin / row_block_alignment * row_block_alignment <= row_block_size;
}

/// Shares out the rows of a matrix whose offsets are on a GPU. 16 bytes for every 2000 nonzeros and rows.
/// Synchronises. Defined by row_blocks.cu, or by matrix/cuda_absent.cpp.
[[nodiscard]] RowBlocks make_row_blocks(std::int64_t rows, std::int64_t nonzeros,
                                        const Array<std::int64_t>& row_offsets);

/// What Csr keeps them in.
class LazyRowBlocks {
 public:
  /// Every call is for the same pattern. Thread-safe; one that fails leaves the next to try again.
  const RowBlocks& get(std::int64_t rows, std::int64_t nonzeros, const Array<std::int64_t>& row_offsets) {
    std::call_once(once_, [&] { blocks_ = make_row_blocks(rows, nonzeros, row_offsets); });
    return blocks_;
  }

 private:
  std::once_flag once_;
  RowBlocks blocks_;
};

}  // namespace echelon

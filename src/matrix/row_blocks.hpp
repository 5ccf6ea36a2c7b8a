// SPDX-License-Identifier: BSD-3-Clause
/// Blocks of consecutive rows with about equally many nonzeros, for products on a GPU.
#pragma once

#include <echelon/csr.hpp>

#include <algorithm>
#include <cstdint>

namespace echelon {

/// Nonzeros that a block has room for.
inline constexpr std::int64_t row_block_size = 2048;

/// A row with more nonzeros is left to all blocks together: one block would still work when all others are
/// done. There are fewer than 64 such rows.
inline std::int64_t longest_block_row(std::int64_t nonzeros) {
  return std::max<std::int64_t>(nonzeros / 64, 4 * row_block_size);
}

/// Shares out the rows of a matrix whose offsets are on a GPU. 16 bytes in all for every 2000 nonzeros and
/// rows. Reads the offsets once; synchronises. Defined by row_blocks.cu, or by backend/cuda/absent.cpp.
[[nodiscard]] RowBlocks make_row_blocks(std::int64_t rows, std::int64_t nonzeros,
                                        const Array<std::int64_t>& row_offsets);

}  // namespace echelon

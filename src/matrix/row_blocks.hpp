// SPDX-License-Identifier: BSD-3-Clause
/// Blocks of consecutive rows with about equally many nonzeros, for products on a GPU.
#pragma once

#include "backend/annotate.hpp"

#include <echelon/csr.hpp>

#include <cstdint>

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
/// Synchronises. Defined by row_blocks.cu, or by backend/cuda/absent.cpp.
[[nodiscard]] RowBlocks make_row_blocks(std::int64_t rows, std::int64_t nonzeros,
                                        const Array<std::int64_t>& row_offsets);

}  // namespace echelon

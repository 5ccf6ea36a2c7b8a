// SPDX-License-Identifier: BSD-3-Clause
#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "backend/store.hpp"
#include "matrix/row_blocks.hpp"

#include <algorithm>
#include <vector>

namespace echelon {

namespace {

/// Block b begins with the first row i with offsets[i] + i >= b * row_block_work. All rows of a block but the
/// last hold fewer than row_block_work nonzeros together.
struct FindStart {
  std::int64_t rows;
  const std::int64_t* offsets;
  std::int64_t* starts;
  std::int64_t* last_rows;  // the first nonzero of the row before
  ECHELON_ANYWHERE void operator()(std::int64_t block) const {
    std::int64_t low = 0;
    std::int64_t high = rows;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (offsets[middle] + middle < block * row_block_work) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts[2 * block] = low;
    starts[2 * block + 1] = offsets[low];
    last_rows[block] = low > 0 ? offsets[low - 1] : 0;
  }
};

struct LongRows {
  std::int64_t count = 0;
  friend ECHELON_ANYWHERE LongRows combine(LongRows a, LongRows b) { return {a.count + b.count}; }
};
/// Counts the blocks whose last row does not fit.
struct CountLongRows {
  const std::int64_t* starts;
  ECHELON_ANYWHERE LongRows operator()(std::int64_t block) const {
    return {fits_row_block(starts[2 * block + 1], starts[2 * block + 3]) ? 0 : 1};
  }
};

/// Cuts the last row of each block into pieces if it does not fit into the block.
std::vector<RowBlocks::Piece> cut_long_rows(const std::vector<std::int64_t>& starts,
                                            const std::vector<std::int64_t>& last_rows) {
  std::vector<RowBlocks::Piece> pieces;
  for (std::size_t block = 0; block + 1 < last_rows.size(); ++block) {
    const std::int64_t end = starts[2 * block + 3];
    if (fits_row_block(starts[2 * block + 1], end)) continue;
    const std::int64_t begin = last_rows[block + 1];
    const std::int64_t count = (end - begin + row_block_size - 1) / row_block_size;
    const auto first = static_cast<std::int64_t>(pieces.size());
    for (std::int64_t k = begin; k < end; k += row_block_size) {
      pieces.push_back({starts[2 * block + 2] - 1, k, std::min(k + row_block_size, end), first, count});
    }
  }
  return pieces;
}

}  // namespace

RowBlocks make_row_blocks(std::int64_t rows, std::int64_t nonzeros, const Array<std::int64_t>& row_offsets) {
  const std::int64_t blocks = (nonzeros + rows + row_block_work - 1) / row_block_work;
  const Device& device = row_offsets.device();
  RowBlocks result;
  result.starts = Array<std::int64_t>(device, 2 * (blocks + 1));
  Array<std::int64_t> last_rows(device, blocks + 1);
  Cuda backend(device);
  backend.for_each(blocks + 1, FindStart{rows, row_offsets.data(), result.starts.data(), last_rows.data()});
  Array<LongRows> long_rows(device, 1);
  backend.reduce(blocks, CountLongRows{result.starts.data()}, Store<LongRows>{long_rows.data()});
  if (backend.read(long_rows.data()).count == 0) return result;
  const std::vector<RowBlocks::Piece> pieces =
      cut_long_rows(result.starts.to_vector(), last_rows.to_vector());
  result.pieces = Array<RowBlocks::Piece>(device, std::span<const RowBlocks::Piece>(pieces));
  return result;
}

}  // namespace echelon

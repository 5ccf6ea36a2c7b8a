// SPDX-License-Identifier: BSD-3-Clause
#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "backend/store.hpp"
#include "matrix/row_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

/// The blocks' starts on the host if a row may not fit into its block, otherwise nothing. A single wait: few
/// blocks are copied at once, in the time of a number. Synchronises.
std::vector<std::int64_t> starts_unless_all_fit(Cuda& backend, std::int64_t blocks,
                                                const Array<std::int64_t>& starts) {
  if (blocks <= few_row_blocks) return starts.to_vector();
  Array<LongRows> long_rows(backend.device(), 1);
  backend.reduce(blocks, CountLongRows{starts.data()}, Store<LongRows>{long_rows.data()});
  return backend.read(long_rows.data()).count > 0 ? starts.to_vector() : std::vector<std::int64_t>();
}

bool all_fit(std::span<const std::int64_t> starts) {
  for (std::size_t s = 1; s + 2 < starts.size(); s += 2) {
    if (!fits_row_block(starts[s], starts[s + 2])) return false;
  }
  return true;
}

/// Cuts the last row of each block into pieces if it does not fit into the block.
std::vector<RowBlocks::Piece> cut_long_rows(std::span<const std::int64_t> starts,
                                            std::span<const std::int64_t> last_rows) {
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

/// Queues the computation of the starts of the blocks of a matrix, and of the first nonzeros of the rows
/// before.
void find_starts(Cuda& backend, const RowPattern& pattern, std::int64_t* starts, std::int64_t* last_rows) {
  backend.for_each(pattern.blocks() + 1, FindStart{pattern.rows, pattern.offsets, starts, last_rows});
}

}  // namespace

RowBlocks make_row_blocks(std::int64_t rows, std::int64_t nonzeros, const Array<std::int64_t>& row_offsets) {
  const RowPattern pattern{rows, nonzeros, row_offsets.data()};
  const std::int64_t blocks = pattern.blocks();
  const Device& device = row_offsets.device();
  RowBlocks result;
  result.starts = Array<std::int64_t>(device, 2 * (blocks + 1));
  Array<std::int64_t> last_rows(device, blocks + 1);
  Cuda backend(device);
  find_starts(backend, pattern, result.starts.data(), last_rows.data());
  const std::vector<std::int64_t> starts = starts_unless_all_fit(backend, blocks, result.starts);
  if (all_fit(starts)) return result;
  const std::vector<RowBlocks::Piece> pieces = cut_long_rows(starts, last_rows.to_vector());
  result.pieces = Array<RowBlocks::Piece>(device, std::span<const RowBlocks::Piece>(pieces));
  return result;
}

std::vector<RowBlocks> make_row_blocks(const Device& device, std::span<const RowPattern> patterns) {
  // For each matrix: the starts, two numbers for each block, then the nonzeros of last rows, one for each.
  // Kernels load the two numbers of a start at once, from an even place.
  std::vector<std::size_t> begins = {0};
  for (const RowPattern& pattern : patterns) {
    const auto numbers = 3 * static_cast<std::size_t>(pattern.blocks() + 1);
    begins.push_back(begins.back() + numbers + numbers % 2);
  }
  const auto numbers =
      std::make_shared<Array<std::int64_t>>(device, static_cast<std::int64_t>(begins.back()));
  Cuda backend(device);
  std::vector<RowBlocks> result(patterns.size());
  for (std::size_t m = 0; m < patterns.size(); ++m) {
    const std::int64_t size = 2 * (patterns[m].blocks() + 1);
    std::int64_t* const starts = numbers->data() + begins[m];
    find_starts(backend, patterns[m], starts, starts + size);
    result[m].starts = Array<std::int64_t>::borrow(device, starts, size);
    result[m].memory = numbers;
  }
  const std::vector<std::int64_t> found = numbers->to_vector();
  for (std::size_t m = 0; m < patterns.size(); ++m) {
    const auto size = static_cast<std::size_t>(result[m].starts.size());
    const std::span<const std::int64_t> own(found.data() + begins[m], size + size / 2);
    if (all_fit(own.first(size))) continue;
    const std::vector<RowBlocks::Piece> pieces = cut_long_rows(own.first(size), own.subspan(size));
    result[m].pieces = Array<RowBlocks::Piece>(device, std::span<const RowBlocks::Piece>(pieces));
  }
  return result;
}

}  // namespace echelon

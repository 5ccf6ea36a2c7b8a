// SPDX-License-Identifier: BSD-3-Clause
#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "backend/store.hpp"
#include "matrix/row_blocks.hpp"

namespace echelon {

namespace {

/// Block b begins with the first row i that has offsets[i] + i >= b share: rows and nonzeros are work alike.
/// All rows of a block but the last hold fewer than `share` nonzeros together.
struct FindStart {
  std::int64_t rows;
  std::int64_t share;
  const std::int64_t* offsets;
  std::int64_t* starts;
  ECHELON_ANYWHERE void operator()(std::int64_t block) const {
    std::int64_t low = 0;
    std::int64_t high = rows;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (offsets[middle] + middle < block * share) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    starts[2 * block] = low;
    starts[2 * block + 1] = offsets[low];
  }
};

/// Reports row i if it is long and not among the first `known`.
struct FindLong {
  std::int64_t known;
  std::int64_t longest;
  const std::int64_t* offsets;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    const bool found = i >= known && offsets[i + 1] - offsets[i] > longest;
    return {found ? i : FirstIndex::none};
  }
};

/// In ascending order.
std::vector<RowBlocks::LongRow> find_long_rows(Cuda& backend, std::int64_t rows, std::int64_t nonzeros,
                                               const std::int64_t* offsets) {
  std::vector<RowBlocks::LongRow> result;
  Array<FirstIndex> found(backend.device(), 1);
  std::int64_t known = 0;
  while (known < rows) {
    backend.reduce(rows, FindLong{known, longest_block_row(nonzeros), offsets},
                   Store<FirstIndex>{found.data()});
    const std::int64_t row = backend.read(found.data()).value;
    if (row == FirstIndex::none) break;
    result.push_back({row, backend.read(offsets + row), backend.read(offsets + row + 1)});
    known = row + 1;
  }
  return result;
}

}  // namespace

RowBlocks make_row_blocks(std::int64_t rows, std::int64_t nonzeros, const Array<std::int64_t>& row_offsets) {
  constexpr std::int64_t share = row_block_size - 4;  // a block is staged from a multiple of four on
  const std::int64_t blocks = (nonzeros + rows + share - 1) / share;
  Cuda backend(row_offsets.device());
  RowBlocks result;
  result.starts = Array<std::int64_t>(backend.device(), 2 * (blocks + 1));
  backend.for_each(blocks + 1, FindStart{rows, share, row_offsets.data(), result.starts.data()});
  result.long_rows = find_long_rows(backend, rows, nonzeros, row_offsets.data());
  backend.synchronize();
  return result;
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Transposes of matrices with a symmetric pattern on a GPU: the pattern stays, and entry (i, j) takes the
/// value of entry (j, i), which is found by bisection in row j. Memory movement per entry of a double: 12
/// bytes read and 12 written, if entries (j, i) of nearby rows i share cache lines.
#pragma once

#include "matrix/compression/bucket_sort.cuh"

namespace echelon::mirror {

using bucket_sort::load_columns;
using bucket_sort::scatter_block;
using bucket_sort::scatter_items;
using bucket_sort::tile_size;

/// Writes columns and values of the transpose of a square matrix if its pattern is symmetric, which it is if
/// every entry has a mirror image: different entries have different images. Otherwise increments `missing`,
/// and all blocks return soon after.
template <class T>
__global__ void __launch_bounds__(scatter_block, 3)
    reflect(TransposedEntries<T> entries, const std::int32_t* tile_rows, std::int32_t* columns, T* values,
            unsigned* missing) {
  const std::int64_t tiles = (entries.count + tile_size - 1) / tile_size;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    std::int32_t row[scatter_items];
    load_columns(entries, tile_rows, tile, row);
    bool found = true;
#pragma unroll
    for (int i = 0; i < scatter_items; ++i) {
      const std::int64_t k = tile * tile_size + i * scatter_block + threadIdx.x;
      if (k >= entries.count) continue;
      const std::int32_t column = entries.rows[k];
      const std::int64_t end = entries.offsets[column + 1];
      const std::int64_t image = lower_bound(entries.rows, entries.offsets[column], end, row[i]);
      if (image == end || entries.rows[image] != row[i]) {
        found = false;
        continue;
      }
      columns[k] = column;
      values[k] = entries.values[image];
    }
    if (!found) atomicAdd(missing, 1u);
    const bool other = threadIdx.x == 0 && *static_cast<volatile unsigned*>(missing) > 0;
    if (__syncthreads_or(!found || other ? 1 : 0) != 0) return;
  }
}

}  // namespace echelon::mirror

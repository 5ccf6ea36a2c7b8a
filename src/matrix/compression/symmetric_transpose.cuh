// SPDX-License-Identifier: BSD-3-Clause
/// Transposes of matrices whose pattern is symmetric, on a GPU: only the values change their places, and each
/// entry finds its new one in the row whose number is its column. Bytes an entry of a double: 12 in and 12
/// out, where those that are looked up share cache lines.
#pragma once

#include "matrix/compression/bucket_sort.cuh"

namespace echelon::mirror {

using bucket_sort::load_columns;
using bucket_sort::scatter_block;
using bucket_sort::scatter_items;
using bucket_sort::tile_size;

/// columns and values = those of the transpose of a square matrix, if its pattern is symmetric: different
/// entries have different images, so that it is when none is missing. Else all blocks end soon after one has
/// counted up `missing`.
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

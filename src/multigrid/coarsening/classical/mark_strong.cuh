// SPDX-License-Identifier: BSD-3-Clause
/// Strength of connection on a GPU for rows of coarse levels, one per warp: with tens of elements a row, a
/// thread for each row reads memory in single elements, and a small level has too few threads.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "multigrid/coarsening/classical/mark_strong.hpp"

#include <algorithm>
#include <cstdint>

namespace echelon::multigrid::classical {

namespace strong_rows {

using cuda_kernels::block_size;

inline constexpr int rows_per_block = block_size / warp_size;

/// Combines the lanes' parts of a row, in all lanes.
__device__ inline RowExtremes combine_in_warp(RowExtremes row) {
#pragma unroll
  for (int delta = warp_size / 2; delta > 0; delta /= 2) {
    row = combine(
        row, {__shfl_xor_sync(full_warp, row.diagonal, delta), __shfl_xor_sync(full_warp, row.sum, delta),
              __shfl_xor_sync(full_warp, row.least, delta), __shfl_xor_sync(full_warp, row.greatest, delta)});
  }
  return row;
}

/// Calls `mark` for the elements of n rows.
/// Memory movement: the values and columns of a row once, and a byte for each.
template <class T>
__global__ void __launch_bounds__(block_size) mark_by_warps(std::int64_t n, MarkStrong<T> mark) {
  const std::int64_t stride = std::int64_t{gridDim.x} * rows_per_block;
  std::int64_t i = std::int64_t{blockIdx.x} * rows_per_block + threadIdx.x / warp_size;
  for (; i < n; i += stride) {
    const std::int64_t end = mark.a.end(i);
    const std::int64_t first = mark.a.begin(i) + lane_id();
    RowExtremes row;
    for (std::int64_t k = first; k < end; k += warp_size) mark.add(i, k, row);
    row = combine_in_warp(row);
    const double largest = row.largest(mark.max_row_sum);
    bool depends = false;
    for (std::int64_t k = first; k < end; k += warp_size) depends = mark.mark(i, k, row, largest) || depends;
    depends = __any_sync(full_warp, depends) != 0;
    if (lane_id() == 0) mark.is_isolated[i] = depends ? 0 : 1;
  }
}

}  // namespace strong_rows

/// Calls `mark` for n rows: by a warp for each if their mean number of elements is at least 16, otherwise by
/// a thread.
template <class T>
void mark_rows(Cuda& backend, std::int64_t n, std::int64_t elements, const MarkStrong<T>& mark) {
  constexpr std::int64_t long_row = 16;
  constexpr std::int64_t most_blocks = 1 << 14;
  if (elements < long_row * n || n == 0) {
    backend.for_each(n, mark);
    return;
  }
  const CurrentDevice current(backend.device().id());
  const std::int64_t blocks = (n + strong_rows::rows_per_block - 1) / strong_rows::rows_per_block;
  strong_rows::mark_by_warps<<<static_cast<unsigned>(std::min(blocks, most_blocks)), strong_rows::block_size,
                               0, stream()>>>(n, mark);
  check(cudaGetLastError());
}

}  // namespace echelon::multigrid::classical

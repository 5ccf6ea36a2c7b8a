// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Seidel sweeps over matrices with long rows, which warps take.
#pragma once

#include "relaxation/gauss_seidel_kernel.cuh"

namespace echelon::gauss_seidel {

/// The longest chunk in which warps of their own take the long rows.
constexpr int most_mixed_rows = 512;

/// A lane for each short row, and the warps behind those lanes for the long ones, in turn.
template <class T, bool forward>
__global__ void __launch_bounds__(1024) sweep_by_lanes_and_warps(const __grid_constant__ DeviceSweep<T> task,
                                                                 const __grid_constant__ Shape shape) {
  if (!task.is_wanted(false)) return;
  const Chunk<T, forward> chunk(task, shape);
  __shared__ unsigned long_rows[most_mixed_rows / warp_lanes];  // a bit for each
  const int local = static_cast<int>(threadIdx.x);
  const int warp = local / warp_lanes;
  const int words = shape.chunk / warp_lanes;
  WaitingRow<T> rows[1];
  bool is_long = false;
  if (warp < words) {
    chunk.find(rows[0], local);
    is_long = chunk.is_long(rows[0], local);
    long_rows[warp] = __ballot_sync(every_lane, is_long);
  }
  __syncthreads();
  if (warp < words) {
    sweep_rows<false>(chunk, rows, is_long ? chunk.size() : local);
    return;
  }
  const int warps = static_cast<int>(blockDim.x) / warp_lanes - words;
  int turn = words - warp;
  for (int word = 0; word < words; ++word) {
    for (unsigned left = long_rows[word]; left != 0; left &= left - 1) {
      if (turn++ % warps == 0) chunk.sweep_row(word * warp_lanes + __ffs(static_cast<int>(left)) - 1);
    }
  }
}

/// A warp for each row, for matrices whose rows are long.
template <class T, bool forward>
__global__ void __launch_bounds__(1024)
    sweep_by_warps(const __grid_constant__ DeviceSweep<T> task, const __grid_constant__ Shape shape) {
  if (!task.is_wanted(false)) return;
  const Chunk<T, forward> chunk(task, shape);
  const int warps = static_cast<int>(blockDim.x) / warp_lanes;
  for (int local = static_cast<int>(threadIdx.x) / warp_lanes; local < chunk.size(); local += warps) {
    chunk.sweep_row(local);
  }
}

}  // namespace echelon::gauss_seidel

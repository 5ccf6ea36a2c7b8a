// SPDX-License-Identifier: BSD-3-Clause
/// Loops whose bodies work on a whole row, by the lanes of a warp.
#pragma once

#include <algorithm>
#include <cstdint>

namespace echelon::mapped {

/// The lanes of a warp, all of which take part.
struct WarpLanes {
  static constexpr int lanes = warp_size;
  __device__ static int lane() { return lane_id(); }
  __device__ static void sync() { __syncwarp(); }
  __device__ static LaneCount count(bool condition) {
    const unsigned mask = __ballot_sync(full_warp, condition);
    return {__popc(mask & lanes_before(lane_id())), __popc(mask)};
  }
};

namespace kernels {

template <class F>
__global__ void __launch_bounds__(cuda_kernels::block_size) for_each_row(std::int64_t n, F f) {
  constexpr int rows_per_block = cuda_kernels::block_size / warp_size;
  const std::int64_t stride = std::int64_t{gridDim.x} * rows_per_block;
  const std::int64_t first = std::int64_t{blockIdx.x} * rows_per_block + threadIdx.x / warp_size;
  for (std::int64_t i = first; i < n; i += stride) f(i, WarpLanes());
}

}  // namespace kernels

/// Calls f(i, lanes) for i < n. `elements`: total number of elements of the rows.
template <class F>
void for_each_row(Cuda& backend, std::int64_t n, std::int64_t /*elements*/, F f) {
  if (n <= 0) return;
  constexpr std::int64_t rows_per_block = cuda_kernels::block_size / warp_size;
  constexpr std::int64_t most_blocks = 1 << 16;
  const std::int64_t blocks = std::min((n + rows_per_block - 1) / rows_per_block, most_blocks);
  const CurrentDevice current(backend.device().id());
  kernels::for_each_row<<<static_cast<unsigned>(blocks), cuda_kernels::block_size, 0, stream()>>>(n, f);
  check(cudaGetLastError());
}

}  // namespace echelon::mapped

// SPDX-License-Identifier: BSD-3-Clause
/// Teams on a GPU: thread blocks, whose memory is shared memory.
#pragma once

#include "backend/cuda/shared_memory.cuh"
#include "exact/lanes.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::mapped {

/// The threads of a block.
struct ThreadBlock {
  using Lanes = WarpLanes;
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return static_cast<int>(blockDim.x); }
  __device__ static int warp() { return thread() / warp_size; }
  __device__ static int warps() { return threads() / warp_size; }
  __device__ static void sync() { __syncthreads(); }
};

template <class B>
inline constexpr bool has_teams = true;

inline constexpr int most_warps_of_team = 8;

namespace kernels {

template <class F>
__global__ void __launch_bounds__(most_warps_of_team* warp_size) for_each_team(F f, std::size_t bytes) {
  extern __shared__ double2 team_memory[];
  f(std::int64_t{blockIdx.x}, reinterpret_cast<std::byte*>(team_memory), bytes, ThreadBlock());
}

}  // namespace kernels

/// Sizes of teams, from the smallest: eight, four, two and one block on a multiprocessor.
inline std::vector<TeamSize> team_sizes(Cuda& backend) {
  const auto attribute = [&](cudaDeviceAttr name) {
    int value = 0;
    check(cudaDeviceGetAttribute(&value, name, backend.device().id()));
    return static_cast<std::size_t>(value);
  };
  const std::size_t multiprocessor = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  const std::size_t reserved = attribute(cudaDevAttrReservedSharedMemoryPerBlock);
  const std::size_t most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  std::vector<TeamSize> sizes;
  for (const std::size_t blocks : {8, 4, 2, 1}) {
    const std::size_t bytes = std::min(multiprocessor / blocks - reserved, most) / 16 * 16;
    sizes.push_back({bytes, blocks >= 4 ? 4 : most_warps_of_team});
  }
  return sizes;
}

/// Calls f(i, memory, bytes, team) for i < n < 2^31, each by a team of its own.
template <class F>
void for_each_team(Cuda& backend, std::int64_t n, const TeamSize& size, F f) {
  if (n <= 0) return;
  const CurrentDevice current(backend.device().id());
  auto* kernel = kernels::for_each_team<F>;
  allow_shared_memory(kernel);
  kernel<<<static_cast<unsigned>(n), static_cast<unsigned>(size.warps * warp_size), size.bytes, stream()>>>(
      f, size.bytes);
  check(cudaGetLastError());
}

}  // namespace echelon::mapped

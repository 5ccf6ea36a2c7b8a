// SPDX-License-Identifier: BSD-3-Clause
/// Teams: the threads that work on one slice, in a memory of their own. On a GPU a thread block in shared
/// memory, on the host one thread in a buffer of the size of its cache.
#pragma once

#include "backend/target.hpp"
#include "exact/lanes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#ifdef __CUDACC__
#include "backend/cuda/shared_memory.cuh"
#endif

namespace echelon::mapped {

/// Memory of a team: its size, and the number of warps that share it.
struct TeamSize {
  std::size_t bytes = 0;
  int warps = 1;
};

/// A host thread, which is its only warp.
struct OneThread {
  using Lanes = OneLane;
  static int thread() { return 0; }
  static int threads() { return 1; }
  static int warp() { return 0; }
  static int warps() { return 1; }
  static void sync() {}
};

#ifdef __CUDACC__

/// The threads of a block.
struct ThreadBlock {
  using Lanes = WarpLanes;
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return static_cast<int>(blockDim.x); }
  __device__ static int warp() { return thread() / warp_size; }
  __device__ static int warps() { return threads() / warp_size; }
  __device__ static void sync() { __syncthreads(); }
};

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

#else

/// One size, about that of a core's second-level cache.
inline std::vector<TeamSize> team_sizes(Host& /*backend*/) {
  return {{std::size_t{1} << 18U, 1}};
}

template <class F>
void for_each_team(Host& backend, std::int64_t n, const TeamSize& size, F f) {
  const std::size_t words = size.bytes / sizeof(double);
  std::vector<double> memory(words * static_cast<std::size_t>(backend.threads()));
  backend.parallel(n > 1, [&](int part, int parts) {
    auto* own = reinterpret_cast<std::byte*>(memory.data() + words * static_cast<std::size_t>(part));
    for (std::int64_t i = part; i < n; i += parts) f(i, own, size.bytes, OneThread());
  });
}

#endif

}  // namespace echelon::mapped

// SPDX-License-Identifier: BSD-3-Clause
/// Thread block clusters, from compute capability 9.0 on: blocks that run at the same time and see each
/// other's shared memory. Older targets compile this as long as they do not call it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace echelon::cluster {

/// This block's number in the cluster.
__device__ inline unsigned rank() {
  unsigned result = 0;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(result));
  return result;
}

/// How many blocks the cluster has.
__device__ inline unsigned size() {
  unsigned result = 0;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(result));
  return result;
}

/// A barrier for all threads of the cluster; what one wrote before it, the others read after it.
__device__ inline void sync() {
  asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

/// The same object in the shared memory of another block.
template <class V>
__device__ V* in_block(V* shared, unsigned block) {
  std::uint64_t address = 0;
  asm("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(reinterpret_cast<std::uint64_t>(shared)), "r"(block));
  return reinterpret_cast<V*>(address);
}

}  // namespace echelon::cluster

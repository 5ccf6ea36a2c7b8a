// SPDX-License-Identifier: BSD-3-Clause
/// Thread block clusters (blocks that are resident together and address each other's shared memory) and
/// programmatic dependent launch (a kernel starts before its predecessor in the stream has ended). Both need
/// compute capability 9.0; older targets compile this header as long as they do not call it.
#pragma once

#include "backend/cuda/check.cuh"

#include <echelon/device.hpp>

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace echelon::cluster {

/// Whether the target that is being compiled has clusters.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool compiled = false;
#else
inline constexpr bool compiled = true;
#endif

/// Whether the GPU has clusters.
inline bool available(const Device& device) {
  constexpr int capability_with_clusters = 9;
  int capability = 0;
  check(cudaDeviceGetAttribute(&capability, cudaDevAttrComputeCapabilityMajor, device.id()));
  return capability >= capability_with_clusters;
}

/// This block's rank in its cluster.
__device__ inline unsigned rank() {
  unsigned result = 0;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(result));
  return result;
}

/// Number of blocks in the cluster.
__device__ inline unsigned size() {
  unsigned result = 0;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(result));
  return result;
}

/// Barrier for all threads of the cluster. Writes before it are visible to the whole cluster after it.
__device__ inline void sync() {
  asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

/// Address of `shared`, an object in this block's shared memory, in the shared memory of another block.
template <class V>
__device__ V* in_block(V* shared, unsigned block) {
  std::uint64_t address = 0;
  asm("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(reinterpret_cast<std::uint64_t>(shared)), "r"(block));
  return reinterpret_cast<V*>(address);
}

/// Waits until the preceding kernel in the stream has ended and its writes are visible. A kernel that may
/// start early calls this before its first access to global memory.
__device__ inline void wait_for_kernel_ahead() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// Lets the next kernel in the stream start once all blocks have called this, if it was launched to do so.
__device__ inline void let_next_kernel_start() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// Launch configuration in clusters. `early` permits the start before the preceding kernel has ended, for
/// kernels that call wait_for_kernel_ahead(). config() points into this object.
class Launch {
 public:
  Launch(unsigned blocks_of_cluster, unsigned blocks, unsigned threads, std::size_t shared_bytes,
         cudaStream_t on, bool early) {
    attributes_[0].id = cudaLaunchAttributeClusterDimension;
    attributes_[0].val.clusterDim.x = blocks_of_cluster;
    attributes_[0].val.clusterDim.y = attributes_[0].val.clusterDim.z = 1;
    attributes_[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes_[1].val.programmaticStreamSerializationAllowed = 1;
    config_.gridDim = dim3(blocks);
    config_.blockDim = dim3(threads);
    config_.dynamicSmemBytes = shared_bytes;
    config_.stream = on;
    config_.attrs = attributes_;
    config_.numAttrs = early ? 2 : 1;
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  [[nodiscard]] const cudaLaunchConfig_t* config() const { return &config_; }

 private:
  cudaLaunchAttribute attributes_[2] = {};
  cudaLaunchConfig_t config_{};
};

}  // namespace echelon::cluster

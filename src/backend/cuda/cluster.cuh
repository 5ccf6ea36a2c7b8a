// SPDX-License-Identifier: BSD-3-Clause
/// Thread block clusters, from compute capability 9.0 on: blocks that run at the same time and see each
/// other's shared memory; and kernels that get their multiprocessors before the one ahead of them in the
/// stream has ended. Older targets compile this as long as they do not call it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
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

/// Waits for the end of the kernel ahead in the stream. A kernel that was launched early touches no global
/// memory before.
__device__ inline void wait_for_kernel_ahead() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

/// When all blocks have said so, the next kernel's may start, if it was launched early.
__device__ inline void let_next_kernel_start() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/// How to launch a kernel in clusters of so many blocks, and early if it waits itself for the one ahead; for
/// as long as this lives.
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

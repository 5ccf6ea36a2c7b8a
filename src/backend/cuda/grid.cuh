// SPDX-License-Identifier: BSD-3-Clause
/// Grids whose blocks are all resident and wait for each other.
#pragma once

#include "backend/cuda/check.cuh"
#include "backend/cuda/flags.cuh"

#include <echelon/device.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace echelon {

/// Barrier for all threads of a grid that was launched by `launch_grid`. Writes before it are visible to the
/// whole grid after it. `arrivals` is a counter in global memory, zero before the launch.
class GridBarrier {
 public:
  explicit __device__ GridBarrier(unsigned* arrivals) : arrivals_(arrivals) {}

  __device__ void wait() {
    __syncthreads();
    if (threadIdx.x == 0) {
      expected_ += gridDim.x;
      asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrivals_) : "memory");
      Watchdog watchdog;
      while (load_acquire(arrivals_) < expected_) watchdog.poll();
    }
    __syncthreads();
  }

 private:
  unsigned* arrivals_;
  unsigned expected_ = 0;  // of thread 0
};

/// Number of multiprocessors, and so of the blocks that are certainly resident.
inline unsigned multiprocessors(const Device& device) {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device.id()));
  return static_cast<unsigned>(count);
}

/// Number of blocks of a kernel, with `threads` threads each, that are resident on the current GPU at the
/// same time, counting at most `most` of each multiprocessor; at least one.
template <class Kernel>
unsigned resident_blocks(Kernel kernel, unsigned threads, std::size_t shared_bytes,
                         int most = std::numeric_limits<int>::max()) {
  int device = 0;
  int processors = 0;
  int blocks = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(threads),
                                                      shared_bytes));
  return static_cast<unsigned>(std::clamp(blocks, 1, most)) * static_cast<unsigned>(processors);
}

/// Launch configuration of a grid.
struct GridShape {
  unsigned blocks;
  unsigned threads;  ///< of a block
  std::size_t shared_bytes;
  cudaStream_t stream;
};

/// Launches a kernel whose blocks wait for each other; fails if they cannot all be resident.
template <class... Parameters, class... Arguments>
void launch_grid(void (*kernel)(Parameters...), const GridShape& shape, const Arguments&... arguments) {
  cudaLaunchAttribute cooperative = {};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(shape.blocks);
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = shape.stream;
  config.attrs = &cooperative;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...));
}

}  // namespace echelon

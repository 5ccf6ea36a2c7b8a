// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace echelon {

/// Throws CudaError (OutOfMemory for a failed allocation) with CUDA's message and the source location unless
/// the call succeeded. For calls of CUDA's libraries see libraries.cuh.
void check(cudaError_t status, std::source_location where = std::source_location::current());

/// Stream of all work: the calling thread's default stream. Threads do not wait for each other, and the work
/// of one thread stays in order.
inline cudaStream_t stream() {
  return cudaStreamPerThread;
}

/// Waits for the calling thread's stream. All waits of the library use this function, which counts them.
void wait_for_stream(std::source_location where = std::source_location::current());

/// Makes a GPU current for a scope.
class CurrentDevice {
 public:
  explicit CurrentDevice(int id) : id_(id) {
    check(cudaGetDevice(&before_));
    if (before_ != id_) check(cudaSetDevice(id_));
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice() {
    if (before_ != id_) cudaSetDevice(before_);
  }

 private:
  int id_;
  int before_ = 0;
};

}  // namespace echelon

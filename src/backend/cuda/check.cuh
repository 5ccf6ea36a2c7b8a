// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace echelon {

/// Throws CudaError (OutOfMemory for a failed allocation) with CUDA's text and the place, unless the call
/// succeeded. For the libraries' calls see libraries.cuh.
void check(cudaError_t status, std::source_location where = std::source_location::current());

/// The stream of all work: the calling thread's default stream. Threads do not wait for each other, and one
/// thread's work stays in order.
inline cudaStream_t stream() {
  return cudaStreamPerThread;
}

/// Waits for the calling thread's stream. Every wait of the library for a stream is here, where it is
/// counted.
void wait_for_stream(std::source_location where = std::source_location::current());

/// Makes a GPU current for a scope.
class CurrentDevice {
 public:
  explicit CurrentDevice(int id) {
    check(cudaGetDevice(&before_));
    if (before_ != id) check(cudaSetDevice(id));
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice() { cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

}  // namespace echelon

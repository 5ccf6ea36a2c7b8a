// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/check.cuh"
#include "backend/memory.hpp"

#include <echelon/error.hpp>

namespace echelon::cuda_memory {

bool built() {
  return true;
}

int device_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

std::string hardware(int id) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, id));
  return properties.name;
}

MemoryInfo info(int id) {
  const CurrentDevice current(id);
  MemoryInfo result;
  check(cudaMemGetInfo(&result.available, &result.total));
  return result;
}

void* allocate(int id, std::size_t bytes) {
  require(Device::cuda(id));
  if (bytes == 0) return nullptr;
  const CurrentDevice current(id);
  void* pointer = nullptr;
  const cudaError_t status = cudaMalloc(&pointer, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // forgotten: the device stays usable
    throw OutOfMemory(Device::cuda(id).name(), bytes, info(id).available);
  }
  check(status);
  return pointer;
}

void deallocate(int id, void* pointer) noexcept {
  if (pointer == nullptr) return;
  int before = 0;
  cudaGetDevice(&before);
  cudaSetDevice(id);
  cudaFree(pointer);
  cudaSetDevice(before);
}

void copy(Direction direction, int target_id, void* target, int source_id, const void* source,
          std::size_t bytes) {
  if (bytes == 0) return;
  const CurrentDevice current(direction == Direction::to_device ? target_id : source_id);
  switch (direction) {
    case Direction::to_device:
      check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, stream()));
      break;
    case Direction::to_host:
      check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, stream()));
      break;
    case Direction::on_device:
      check(target_id == source_id
                ? cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream())
                : cudaMemcpyPeerAsync(target, target_id, source, source_id, bytes, stream()));
      break;
  }
  check(cudaStreamSynchronize(stream()));
}

}  // namespace echelon::cuda_memory

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/check.cuh"
#include "backend/memory.hpp"

#include <echelon/error.hpp>

#include <cstdint>

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

namespace {

cudaMemPool_t pool(int id) {
  cudaMemPool_t result = nullptr;
  check(cudaDeviceGetDefaultMemPool(&result, id));
  return result;
}

std::size_t attribute(cudaMemPool_t pool, cudaMemPoolAttr name) {
  std::uint64_t value = 0;
  check(cudaMemPoolGetAttribute(pool, name, &value));
  return value;
}

/// Freed memory that the pool keeps, as a share of the GPU's: enough for what repeated operations need
/// besides their results, little enough that CUDA's libraries, which allocate past the pool, are not starved.
std::uint64_t worth_keeping(std::size_t total) {
  return total / 4;
}

/// In the calling thread's order of work, from memory that was freed before where there is some: neither this
/// nor freeing waits for the GPU, which cudaMalloc and cudaFree do.
cudaError_t allocate_from_pool(void** pointer, std::size_t bytes, int id) {
  cudaError_t status = cudaMallocAsync(pointer, bytes, stream());
  if (status != cudaErrorMemoryAllocation) return status;
  cudaGetLastError();  // forgotten: the device stays usable
  check(cudaStreamSynchronize(stream()));
  check(cudaMemPoolTrimTo(pool(id), 0));  // pieces may be free that fit only together
  return cudaMallocAsync(pointer, bytes, stream());
}

}  // namespace

/// What the pool keeps counts as available: an allocation gets it.
MemoryInfo info(int id) {
  const CurrentDevice current(id);
  MemoryInfo result;
  check(cudaMemGetInfo(&result.available, &result.total));
  const std::size_t reserved = attribute(pool(id), cudaMemPoolAttrReservedMemCurrent);
  result.available += reserved - attribute(pool(id), cudaMemPoolAttrUsedMemCurrent);
  return result;
}

void* allocate(int id, std::size_t bytes) {
  require(Device::cuda(id));
  if (bytes == 0) return nullptr;
  const CurrentDevice current(id);
  if (attribute(pool(id), cudaMemPoolAttrReleaseThreshold) == 0) {
    std::uint64_t keep = worth_keeping(info(id).total);
    check(cudaMemPoolSetAttribute(pool(id), cudaMemPoolAttrReleaseThreshold, &keep));
  }
  void* pointer = nullptr;
  const cudaError_t status = allocate_from_pool(&pointer, bytes, id);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
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
  cudaFreeAsync(pointer, stream());
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

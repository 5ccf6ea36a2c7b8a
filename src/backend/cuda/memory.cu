// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/check.cuh"
#include "backend/cuda/counters.hpp"
#include "backend/device/memory.hpp"

#include <echelon/error.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace echelon {

namespace {
std::atomic<std::int64_t> allocations{0};
std::atomic<std::int64_t> frees{0};
std::atomic<std::int64_t> synchronizations{0};
}  // namespace

CudaCounts cuda_counts() {
  return {allocations, frees, synchronizations};
}

void wait_for_stream(std::source_location where) {
  ++synchronizations;
  check(cudaStreamSynchronize(stream()), where);
}

}  // namespace echelon

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

/// Bytes of freed memory that the pool keeps: enough for the temporary memory of repeated operations, little
/// enough to leave memory to CUDA's libraries, which allocate outside the pool.
std::uint64_t release_threshold(std::size_t total) {
  return total / 4;
}

/// Stream-ordered allocation from the pool. Unlike cudaMalloc and cudaFree, neither this nor freeing waits
/// for the GPU. When memory is short, the pool's fragments are released and the allocation is tried again.
cudaError_t allocate_from_pool(void** pointer, std::size_t bytes, int id) {
  cudaError_t status = cudaMallocAsync(pointer, bytes, stream());
  if (status != cudaErrorMemoryAllocation) return status;
  cudaGetLastError();  // clears the error: the device stays usable
  wait_for_stream();
  check(cudaMemPoolTrimTo(pool(id), 0));
  return cudaMallocAsync(pointer, bytes, stream());
}

}  // namespace

/// Memory on a GPU. Free memory that the pool keeps counts as available, since allocations are served from
/// it.
MemoryInfo info(int id) {
  const CurrentDevice current(id);
  MemoryInfo result;
  check(cudaMemGetInfo(&result.available, &result.total));
  const std::size_t reserved = attribute(pool(id), cudaMemPoolAttrReservedMemCurrent);
  result.available += reserved - attribute(pool(id), cudaMemPoolAttrUsedMemCurrent);
  return result;
}

namespace {

/// Checks that there is a GPU `id`, and sets its pool up, at the first call: set-ups allocate hundreds of
/// arrays, and each of the three calls of the run time takes a part of a microsecond.
void prepare_pool(int id) {
  static std::array<std::atomic<bool>, 64> prepared;
  const auto place = static_cast<std::size_t>(id);
  if (place < prepared.size() && prepared[place].load(std::memory_order_relaxed)) return;
  require(Device::cuda(id));
  if (attribute(pool(id), cudaMemPoolAttrReleaseThreshold) == 0) {
    std::uint64_t keep = release_threshold(info(id).total);
    check(cudaMemPoolSetAttribute(pool(id), cudaMemPoolAttrReleaseThreshold, &keep));
  }
  if (place < prepared.size()) prepared[place].store(true, std::memory_order_relaxed);
}

}  // namespace

void* allocate(int id, std::size_t bytes) {
  prepare_pool(id);
  if (bytes == 0) return nullptr;
  const CurrentDevice current(id);
  ++allocations;
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
  if (before != id) cudaSetDevice(id);
  ++frees;
  cudaFreeAsync(pointer, stream());
  if (before != id) cudaSetDevice(before);
}

void copy(CopyDirection direction, int target_id, void* target, int source_id, const void* source,
          std::size_t bytes) {
  if (bytes == 0) return;
  const CurrentDevice current(direction == CopyDirection::to_device ? target_id : source_id);
  switch (direction) {
    case CopyDirection::to_device:
      check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyHostToDevice, stream()));
      break;
    case CopyDirection::to_host:
      check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToHost, stream()));
      break;
    case CopyDirection::on_device:
      check(target_id == source_id
                ? cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream())
                : cudaMemcpyPeerAsync(target, target_id, source, source_id, bytes, stream()));
      break;
  }
  wait_for_stream();
}

}  // namespace echelon::cuda_memory

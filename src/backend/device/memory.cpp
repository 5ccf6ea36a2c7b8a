// SPDX-License-Identifier: BSD-3-Clause
#include "backend/device/memory.hpp"

#include "backend/device/memory_limits.hpp"

#include <echelon/array.hpp>
#include <echelon/error.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace echelon {

namespace {

/// Size from which a request is compared with the available memory, because Linux overcommits.
constexpr std::size_t worth_checking = std::size_t{64} << 20;

constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t worth_huge_pages = 4 * huge_page;

std::size_t alignment_of(std::size_t bytes) {
  return bytes >= worth_huge_pages ? huge_page : cache_line;
}

std::size_t padded(std::size_t bytes) {
  const std::size_t alignment = alignment_of(bytes);
  return (bytes + alignment - 1) / alignment * alignment;
}

void* allocate_host(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes >= worth_checking) {
    if (bytes > host_memory().info.available) throw host_out_of_memory(bytes);
  }
  void* pointer = std::aligned_alloc(alignment_of(bytes), padded(bytes));
  if (pointer == nullptr) throw host_out_of_memory(bytes);
  // Pages of 2 MiB reduce the cost of address translation when memory is streamed. A refusal is harmless.
  if (bytes >= worth_huge_pages) madvise(pointer, bytes, MADV_HUGEPAGE);
  return pointer;
}

/// Shrinks an allocation. Most C libraries do so in place; one that moves the memory may lose its alignment,
/// on which only speed depends.
void* shrink_host(void* pointer, std::size_t bytes) {
  void* smaller = std::realloc(pointer, padded(bytes));
  if (smaller == nullptr) return pointer;  // keeps the original allocation
  if (reinterpret_cast<std::uintptr_t>(smaller) % cache_line == 0) return smaller;
  void* aligned = std::aligned_alloc(cache_line, padded(bytes));
  if (aligned == nullptr) return smaller;
  std::memcpy(aligned, smaller, bytes);
  std::free(smaller);
  return aligned;
}

}  // namespace

MemoryInfo memory(const Device& device) {
  require(device);
  if (device.on_host()) return host_memory().info;
  return device.kind() == DeviceKind::cuda ? cuda_memory::info(device.id())
                                           : opencl_memory::info(device.id());
}

namespace memory_detail {

void* allocate(const Device& device, std::size_t bytes) {
  if (device.on_host()) return allocate_host(bytes);
  return device.kind() == DeviceKind::cuda ? cuda_memory::allocate(device.id(), bytes)
                                           : opencl_memory::allocate(device.id(), bytes);
}

void deallocate(const Device& device, void* pointer) noexcept {
  if (device.on_host()) {
    std::free(pointer);
  } else if (device.kind() == DeviceKind::cuda) {
    cuda_memory::deallocate(device.id(), pointer);
  } else {
    opencl_memory::deallocate(device.id(), pointer);
  }
}

void* shrink(const Device& device, void* pointer, std::size_t bytes) {
  if (bytes == 0) {
    deallocate(device, pointer);
    return nullptr;
  }
  if (device.on_host()) return shrink_host(pointer, bytes);
  void* smaller = allocate(device, bytes);
  copy(device, smaller, device, pointer, bytes);
  deallocate(device, pointer);
  return smaller;
}

namespace {
/// One of the two is a GPU, and the other the host or a GPU.
void copy_by_cuda(const Device& to, void* target, const Device& from, const void* source, std::size_t bytes) {
  using cuda_memory::CopyDirection;
  if (to.on_host()) {
    cuda_memory::copy(CopyDirection::to_host, 0, target, from.id(), source, bytes);
  } else if (from.on_host()) {
    cuda_memory::copy(CopyDirection::to_device, to.id(), target, 0, source, bytes);
  } else {
    cuda_memory::copy(CopyDirection::on_device, to.id(), target, from.id(), source, bytes);
  }
}

/// Copies through the host's memory, piece by piece.
void copy_through_host(const Device& to, void* target, const Device& from, const void* source,
                       std::size_t bytes) {
  constexpr std::size_t piece = std::size_t{16} << 20;
  std::vector<unsigned char> buffer(std::min(piece, bytes));
  for (std::size_t begin = 0; begin < bytes; begin += piece) {
    const std::size_t count = std::min(piece, bytes - begin);
    copy(Device::serial(), buffer.data(), from, static_cast<const unsigned char*>(source) + begin, count);
    copy(to, static_cast<unsigned char*>(target) + begin, Device::serial(), buffer.data(), count);
  }
}
}  // namespace

void copy(const Device& to, void* target, const Device& from, const void* source, std::size_t bytes) {
  if (bytes == 0) return;
  const bool to_opencl = to.kind() == DeviceKind::opencl;
  const bool from_opencl = from.kind() == DeviceKind::opencl;
  if (to.on_host() && from.on_host()) {
    std::memcpy(target, source, bytes);
  } else if (!to_opencl && !from_opencl) {
    copy_by_cuda(to, target, from, source, bytes);
  } else if (to.on_host() || from.on_host() || to == from) {
    opencl_memory::copy(to_opencl ? to.id() : from.id(), target, source, bytes);
  } else {
    copy_through_host(to, target, from, source, bytes);
  }
}

std::size_t checked_bytes(std::int64_t count, std::size_t size) {
  if (count < 0 || static_cast<std::size_t>(count) > std::numeric_limits<std::int64_t>::max() / size) {
    throw InvalidMatrix("an array of " + std::to_string(count) + " elements of " + std::to_string(size) +
                        " bytes is more than can be addressed");
  }
  return static_cast<std::size_t>(count) * size;
}

}  // namespace memory_detail
}  // namespace echelon

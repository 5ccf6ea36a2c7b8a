// SPDX-License-Identifier: BSD-3-Clause
#include "backend/device/memory.hpp"

#include "backend/opencl/context.hpp"
#include "backend/opencl/runtime.hpp"

#include <algorithm>

namespace echelon::opencl_memory {

bool built() {
  return true;
}

std::vector<OpenClDeviceInfo> devices() {
  std::vector<OpenClDeviceInfo> all;
  for (const opencl::DriverDevice& device : opencl::driver_devices()) all.push_back(device.info);
  return all;
}

int device_count() noexcept {
  const std::vector<opencl::DriverDevice>& all = opencl::driver_devices();
  return static_cast<int>(std::count_if(all.begin(), all.end(), [](const opencl::DriverDevice& device) {
    return device.info.refusal.empty();
  }));
}

void require(int id) {
  static_cast<void>(opencl::usable_device(id));
}

MemoryInfo info(int id) {
  return opencl::DeviceContext::of(id).memory();
}

void* allocate(int id, std::size_t bytes) {
  return opencl::DeviceContext::of(id).allocate(bytes);
}

void deallocate(int id, void* pointer) noexcept {
  if (pointer != nullptr) opencl::DeviceContext::of(id).deallocate(pointer);
}

void copy(int id, void* target, const void* source, std::size_t bytes) {
  opencl::read(id, target, source, bytes);
}

}  // namespace echelon::opencl_memory

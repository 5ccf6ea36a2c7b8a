// SPDX-License-Identifier: BSD-3-Clause
#include "backend/device/memory.hpp"

#include <echelon/error.hpp>

namespace echelon::opencl_memory {

namespace {
[[noreturn]] void throw_opencl_absent() {
  throw NotBuilt(
      "this build of Echelon has no OpenCL backend: install its packages (scripts/install-packages opencl) "
      "and "
      "build with the preset 'opencl', or use device openmp");
}
}  // namespace

bool built() {
  return false;
}
int device_count() noexcept {
  return 0;
}
std::vector<OpenClDeviceInfo> devices() {
  return {};
}
void require(int /*id*/) {
  throw_opencl_absent();
}
MemoryInfo info(int /*id*/) {
  throw_opencl_absent();
}
void* allocate(int /*id*/, std::size_t /*bytes*/) {
  throw_opencl_absent();
}
void deallocate(int /*id*/, void* /*pointer*/) noexcept {}
void copy(int /*id*/, void* /*target*/, const void* /*source*/, std::size_t /*bytes*/) {
  throw_opencl_absent();
}

}  // namespace echelon::opencl_memory

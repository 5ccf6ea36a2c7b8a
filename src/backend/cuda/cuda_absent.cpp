// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/counters.hpp"
#include "backend/device/memory.hpp"

#include <echelon/error.hpp>

namespace echelon {

namespace {

[[noreturn]] void throw_cuda_absent() {
  throw NotBuilt(
      "this build of Echelon has no CUDA backend: install the CUDA toolkit (nvcc) and build with the preset "
      "'cuda', or use device openmp");
}

}  // namespace

CudaCounts cuda_counts() {
  return {};
}

namespace cuda_memory {

bool built() {
  return false;
}
int device_count() noexcept {
  return 0;
}
std::string hardware(int /*id*/) {
  throw_cuda_absent();
}
MemoryInfo info(int /*id*/) {
  throw_cuda_absent();
}
void* allocate(int /*id*/, std::size_t /*bytes*/) {
  throw_cuda_absent();
}
void deallocate(int /*id*/, void* /*pointer*/) noexcept {}
void copy(CopyDirection /*direction*/, int /*target_id*/, void* /*target*/, int /*source_id*/,
          const void* /*source*/, std::size_t /*bytes*/) {
  throw_cuda_absent();
}

}  // namespace cuda_memory

}  // namespace echelon

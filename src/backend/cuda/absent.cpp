// SPDX-License-Identifier: BSD-3-Clause
#include "backend/memory.hpp"
#include "matrix/row_blocks.hpp"

#include <echelon/error.hpp>

namespace echelon {

namespace {
[[noreturn]] void refuse() {
  throw NotBuilt(
      "this build of Echelon has no CUDA backend: install the CUDA toolkit (nvcc) and build with the preset "
      "'cuda', or use device openmp");
}
}  // namespace

RowBlocks make_row_blocks(std::int64_t /*rows*/, std::int64_t /*nonzeros*/,
                          const Array<std::int64_t>& /*row_offsets*/) {
  refuse();
}

namespace cuda_memory {

bool built() {
  return false;
}
int device_count() noexcept {
  return 0;
}
std::string hardware(int /*id*/) {
  refuse();
}
MemoryInfo info(int /*id*/) {
  refuse();
}
void* allocate(int /*id*/, std::size_t /*bytes*/) {
  refuse();
}
void deallocate(int /*id*/, void* /*pointer*/) noexcept {}
void copy(Direction /*direction*/, int /*target_id*/, void* /*target*/, int /*source_id*/,
          const void* /*source*/, std::size_t /*bytes*/) {
  refuse();
}

}  // namespace cuda_memory

}  // namespace echelon

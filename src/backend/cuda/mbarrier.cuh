// SPDX-License-Identifier: BSD-3-Clause
/// Barriers in shared memory that count bytes (mbarrier of PTX), and stores to the shared memory of other
/// blocks of a cluster that complete them (st.async). Compute capability 9.0 and later.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace echelon::mbarrier {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// Address of an object within the shared memory of its block.
__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}
/// Address of the corresponding element in the shared memory of another block of the cluster.
__device__ inline std::uint32_t map_to_block(std::uint32_t address, int block) {
  std::uint32_t result = 0;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(result) : "r"(address), "r"(block));
  return result;
}

/// Initialises a barrier for one arrival in each phase.
__device__ inline void init(std::uint64_t* barrier) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barrier)) : "memory");
}
/// Makes initialised barriers visible to the cluster; a cluster barrier must follow.
__device__ inline void fence_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// Arrives at the barrier; the phase completes when this number of bytes has been stored.
__device__ inline void expect_bytes(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}
/// Waits for the end of the phase with this parity; the first phase has parity 0.
__device__ inline void wait(std::uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n\t.reg .pred done;\n"
      "again:\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
      "@!done bra again;\n\t}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}
/// Stores 16 bytes at an address of the cluster and signals them to a barrier of the same block, if
/// `condition` holds; predicated, without a branch.
__device__ inline void store_if(bool condition, const ulonglong2& value, std::uint32_t address,
                                std::uint32_t barrier) {
  asm volatile(
      "{\n\t.reg .pred wanted;\n\t"
      "setp.ne.u32 wanted, %4, 0;\n\t"
      "@wanted st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%0], {%1, %2}, [%3];\n\t}" ::"r"(
          address),
      "l"(value.x), "l"(value.y), "r"(barrier), "r"(condition ? 1U : 0U)
      : "memory");
}

#endif

}  // namespace echelon::mbarrier

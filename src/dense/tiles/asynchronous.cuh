// SPDX-License-Identifier: BSD-3-Clause
/// Asynchronous copies to shared memory, and values that blocks of one kernel exchange through global memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace echelon::tiles {

/// Copies 16 bytes from global to shared memory, past the first-level cache. Plain copies before compute
/// capability 8.0, here and below.
__device__ inline void copy_async(void* shared, const void* global) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(global)
               : "memory");
#else
  *static_cast<int4*>(shared) = __ldcg(static_cast<const int4*>(global));
#endif
}

/// Copies one element, or writes zero if it does not exist.
template <class T>
__device__ void copy_element_async(T* shared, const T* global, bool exists) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(global), "n"(sizeof(T)), "r"(exists ? static_cast<unsigned>(sizeof(T)) : 0U)
               : "memory");
#else
  *shared = exists ? *global : T{0};
#endif
}

/// Ends a group of copies of this thread.
__device__ inline void commit_copies() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most `pending` groups of this thread are incomplete.
template <int pending>
__device__ inline void wait_for_copies() {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

/// Reads a counter; what its writer published before is visible afterwards.
__device__ inline int load_acquire(const int* counter) {
  int value = 0;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
  asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
#endif
  return value;
}

/// Publishes the writes of this thread, and those that it has seen, with a counter.
__device__ inline void store_release(int* counter, int value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 700
  asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
#endif
}

}  // namespace echelon::tiles

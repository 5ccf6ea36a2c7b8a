// SPDX-License-Identifier: BSD-3-Clause
/// Counters in global memory by which thread blocks of a running kernel tell each other that data are ready,
/// and a limit on how long they wait.
#pragma once

#include <cuda_runtime.h>

namespace echelon {

/// Ends a kernel, with an error, where a thread has polled a flag for about a minute, longer than any kernel
/// of the library takes: a fault in what waits for what then does not occupy the GPU for ever.
class Watchdog {
 public:
  __device__ void poll() {
    if (++polls_ == limit) __trap();
  }

 private:
  static constexpr int limit = 1 << 27;  // of about half a microsecond
  int polls_ = 0;
};

__device__ inline unsigned load_acquire(const unsigned* counter) {
  unsigned value = 0;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}

/// Waits until the counter has reached `target`. What was written before the counter was raised is visible
/// to the calling thread, and to others that it synchronizes with.
__device__ inline void await_count(const unsigned* counter, unsigned target) {
  if (load_acquire(counter) >= target) return;
  Watchdog watchdog;
  while (load_acquire(counter) < target) watchdog.poll();
}

/// Waits until all bits of `mask` are set.
__device__ inline void await_bits(const unsigned* word, unsigned mask) {
  if ((load_acquire(word) & mask) == mask) return;
  Watchdog watchdog;
  while ((load_acquire(word) & mask) != mask) watchdog.poll();
}

/// Raises a counter by 1 after all that was written by the calling thread, and by others that it has
/// synchronized with.
__device__ inline void release_count(unsigned* counter) {
  __threadfence();
  atomicAdd(counter, 1U);
}

/// Sets bits, as release_count.
__device__ inline void release_bits(unsigned* word, unsigned mask) {
  __threadfence();
  atomicOr(word, mask);
}

}  // namespace echelon

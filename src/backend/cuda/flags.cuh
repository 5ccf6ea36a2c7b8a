// SPDX-License-Identifier: BSD-3-Clause
/// Counters in global memory with which thread blocks of a running kernel take tasks and signal that data are
/// ready, and a limit on the time that they wait.
#pragma once

#include <cuda_runtime.h>

namespace echelon {

/// Aborts a kernel with an error if a thread has polled a flag for about a minute, longer than any kernel of
/// the library takes, so that a synchronisation fault does not occupy the GPU for ever.
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

/// Waits until the counter has reached `target`. Writes before the increment of the counter are then visible
/// to the calling thread, and to others that it synchronises with.
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

/// Increments a counter after all writes of the calling thread, and of others that it has synchronised with.
__device__ inline void release_count(unsigned* counter) {
  __threadfence();
  atomicAdd(counter, 1U);
}

/// Sets bits, with the ordering of release_count.
__device__ inline void release_bits(unsigned* word, unsigned mask) {
  __threadfence();
  atomicOr(word, mask);
}

/// Calls f(ticket) for the tickets below `count` that the calling block takes one after the other, until none
/// is left for any block; `next`: the first that no block has taken. Each block takes its next ticket before
/// it begins with the current one, to hide the latency of the atomic operation. A task may wait for those
/// with smaller tickets: blocks that have begun hold all of these.
template <class Count, class F>
__device__ void for_each_ticket(Count count, Count* next, F f) {
  __shared__ Count shared_ticket;
  Count own = 0;
  if (threadIdx.x == 0) own = atomicAdd(next, Count{1});
  for (;;) {
    __syncthreads();
    if (threadIdx.x == 0) shared_ticket = own;
    __syncthreads();
    const Count ticket = shared_ticket;
    if (ticket >= count) return;
    if (threadIdx.x == 0) own = atomicAdd(next, Count{1});
    f(ticket);
  }
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Threads that hold a small matrix together: votes, reductions and signals between them.
#pragma once

#include "backend/cuda/warp.cuh"

#include <cstdint>

namespace echelon::batch_kernels {

__device__ inline std::uint32_t larger(std::uint32_t a, std::uint32_t b) {
  return a > b ? a : b;
}
__device__ inline unsigned largest_of_warp(unsigned value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return LogicalWarp<>::all_reduce(value, Maximum());
#else
  return __reduce_max_sync(full_warp, value);
#endif
}
/// Selects by value, without an address, which keeps the elements of an array in registers.
template <class V>
__device__ V select(bool condition, V yes, V no) {
  return condition ? yes : no;
}

/// x, computed at this point of the program: the compiler neither moves the computation nor reuses an earlier
/// one.
__device__ inline int compute_here(int x) {
  asm volatile("" : "+r"(x));
  return x;
}
__device__ inline float compute_here(float x) {
  asm volatile("" : "+f"(x));
  return x;
}
__device__ inline double compute_here(double x) {
  asm volatile("" : "+d"(x));
  return x;
}

/// `lanes` adjacent lanes in each of `warps` warps: several whole warps, or a part of one.
template <int lanes, int warps>
struct ThreadGroup {
  static constexpr int groups_per_warp = warp_size / lanes;
  static constexpr int count = lanes * warps;
  static_assert(warps == 1 || groups_per_warp == 1);

  static __device__ void barrier() {
    if constexpr (warps == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }

  // Operations among the lanes of a warp that belong to one group.
  static __device__ int first_lane() { return static_cast<int>(threadIdx.x) % warp_size / lanes * lanes; }
  static __device__ unsigned ballot(bool condition) {
    return __ballot_sync(full_warp, condition) & ((full_warp >> (warp_size - lanes)) << first_lane());
  }
  static __device__ unsigned largest(unsigned value) {
    if constexpr (groups_per_warp <= 2) {
      unsigned largest = 0;
#pragma unroll
      for (int group = 0; group < groups_per_warp; ++group) {
        const bool own = first_lane() == group * lanes;
        const unsigned group_largest = largest_of_warp(own ? value : 0U);
        if (own) largest = group_largest;
      }
      return largest;
    } else {
      return LogicalWarp<lanes>::all_reduce(value, Maximum(), full_warp);
    }
  }
};

/// Single-producer barrier: one warp signals that data is in shared memory, in phases 0, 1, .... Phase t + 1
/// may begin only after every warp has seen phase t. Every lane arrives separately: racecheck of
/// compute-sanitizer (with --num-cuda-barriers 256) follows that, but neither bar.arrive nor a single arrival
/// for the warp.
class WarpSignal {
 public:
  /// Called by one thread, before a barrier of the block.
  __device__ void init() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    state_ = 0;
#else
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "n"(warp_size) : "memory");
#endif
  }
  /// Signals a phase; called by a whole warp.
  __device__ void signal(int phase) {
    __syncwarp();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    __threadfence_block();
    if (threadIdx.x % warp_size == 0) flag() = static_cast<unsigned>(phase) + 1;
#else
    static_cast<void>(phase);
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
#endif
  }
  /// Waits for a phase; called by a whole warp.
  __device__ void wait(int phase) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    while (flag() <= static_cast<unsigned>(phase)) {
    }
    __threadfence_block();
    __syncwarp();
#else
    asm volatile(
        "{\n\t"
        ".reg .pred made;\n\t"
        "again: mbarrier.try_wait.parity.shared::cta.b64 made, [%0], %1;\n\t"
        "@!made bra again;\n\t"
        "}" ::"r"(address()),
        "r"(phase % 2)
        : "memory");
#endif
  }

 private:
  [[nodiscard]] __device__ unsigned address() const {
    return static_cast<unsigned>(__cvta_generic_to_shared(&state_));
  }
  __device__ volatile std::uint64_t& flag() {
    return state_;
  }

  std::uint64_t state_;
};

/// The rows that a lane holds: lane, lane + lanes, ... of n.
template <int lanes>
struct LaneRows {
  int lane, n;
  [[nodiscard]] __device__ int operator[](int r) const { return lane + r * lanes; }
  [[nodiscard]] __device__ bool has(int r) const { return (*this)[r] < n; }
};

/// The elements of a column that a lane holds.
template <class T, int rows_per_lane, int lanes>
struct Column {
  T elements[rows_per_lane];
  __device__ T& operator[](int r) { return elements[r]; }
  __device__ const T& operator[](int r) const { return elements[r]; }

  /// The element of a row, broadcast to all lanes.
  [[nodiscard]] __device__ T of_row(int row) const {
    T element = elements[0];
#pragma unroll
    for (int r = 1; r < rows_per_lane; ++r) element = select(row / lanes == r, elements[r], element);
    return __shfl_sync(full_warp, element, row, lanes);
  }
  /// Difference of this column and f times its element in the pivot row.
  [[nodiscard]] __device__ Column eliminated(int pivot_row, const Column& f) const {
    const T w = of_row(pivot_row);
    Column column;
#pragma unroll
    for (int r = 0; r < rows_per_lane; ++r) column[r] = elements[r] - f[r] * w;
    return column;
  }
};

}  // namespace echelon::batch_kernels

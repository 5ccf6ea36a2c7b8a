// SPDX-License-Identifier: BSD-3-Clause
/// What the threads of a team, which hold a small matrix together, find out from each other.
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
/// By value: the elements of an array stay in registers.
template <class V>
__device__ V either(bool condition, V yes, V no) {
  return condition ? yes : no;
}

/// A number that the compiler computes here, neither earlier nor later, nor takes from where it was before.
__device__ inline int now(int x) {
  asm volatile("" : "+r"(x));
  return x;
}
__device__ inline float now(float x) {
  asm volatile("" : "+f"(x));
  return x;
}
__device__ inline double now(double x) {
  asm volatile("" : "+d"(x));
  return x;
}

/// `lanes` neighbours in each of `warps` warps: several warps, or a part of one.
template <int lanes, int warps>
struct TeamThreads {
  static constexpr int teams_of_warp = warp_size / lanes;
  static constexpr int count = lanes * warps;
  static_assert(warps == 1 || teams_of_warp == 1);

  static __device__ void barrier() {
    if constexpr (warps == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }

  // Those threads of a warp that are in one team.
  static __device__ int first_of_team() { return static_cast<int>(threadIdx.x) % warp_size / lanes * lanes; }
  static __device__ unsigned ballot(bool condition) {
    return __ballot_sync(full_warp, condition) & ((full_warp >> (warp_size - lanes)) << first_of_team());
  }
  static __device__ unsigned largest(unsigned value) {
    if constexpr (teams_of_warp <= 2) {
      unsigned largest = 0;
#pragma unroll
      for (int team = 0; team < teams_of_warp; ++team) {
        const bool own = first_of_team() == team * lanes;
        const unsigned of_these = largest_of_warp(own ? value : 0U);
        if (own) largest = of_these;
      }
      return largest;
    } else {
      return LogicalWarp<lanes>::all_reduce(value, Maximum(), full_warp);
    }
  }
};

/// By it a warp tells the others of its block that something is in shared memory; again and again, where all
/// have been told of time t before time t + 1 comes. Every lane arrives for itself: racecheck of
/// compute-sanitizer follows that (with --num-cuda-barriers 256), and neither bar.arrive nor one lane for
/// all.
class Announcement {
 public:
  /// By one thread, before a barrier of the block.
  __device__ void prepare() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    state_ = 0;
#else
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "n"(warp_size) : "memory");
#endif
  }
  /// By a whole warp.
  __device__ void make(int time) {
    __syncwarp();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    __threadfence_block();
    if (threadIdx.x % warp_size == 0) flag() = static_cast<unsigned>(time) + 1;
#else
    static_cast<void>(time);
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
#endif
  }
  /// By a whole warp; times count from 0.
  __device__ void wait(int time) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    while (flag() <= static_cast<unsigned>(time)) {
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
        "r"(time % 2)
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

/// The rows of one of `lanes` lanes: l, l + lanes, ... of n.
template <int lanes>
struct LaneRows {
  int lane, n;
  [[nodiscard]] __device__ int operator[](int r) const { return lane + r * lanes; }
  [[nodiscard]] __device__ bool has(int r) const { return (*this)[r] < n; }
};

/// What a lane has of a column.
template <class T, int down, int lanes>
struct Column {
  T elements[down];
  __device__ T& operator[](int r) { return elements[r]; }
  __device__ const T& operator[](int r) const { return elements[r]; }

  /// The element of a row, for all lanes.
  [[nodiscard]] __device__ T of_row(int row) const {
    T element = elements[0];
#pragma unroll
    for (int r = 1; r < down; ++r) element = either(row / lanes == r, elements[r], element);
    return __shfl_sync(full_warp, element, row, lanes);
  }
  /// Without f times its element in the pivot row.
  [[nodiscard]] __device__ Column eliminated(int pivot_row, const Column& f) const {
    const T w = of_row(pivot_row);
    Column column;
#pragma unroll
    for (int r = 0; r < down; ++r) column[r] = elements[r] - f[r] * w;
    return column;
  }
};

}  // namespace echelon::batch_kernels

// SPDX-License-Identifier: BSD-3-Clause
/// Groups of threads that work on a node, on a GPU.
#pragma once

#include "backend/cuda/warp.cuh"

#include <cstdint>

namespace echelon::banded {

/// Reductions of a warp: all threads take part; every lane has the result.
struct WarpReductions {
  /// The first i < n with the largest value(i).
  template <class F>
  __device__ std::int32_t find_largest(std::int32_t n, const F& value) const {
    using T = decltype(value(0));
    T most = T{-2};
    std::int32_t at = n - 1;
    for (std::int32_t i = lane_id(); i < n; i += warp_size) {
      const T own = value(i);
      if (own > most) {
        most = own;
        at = i;
      }
    }
#pragma unroll
    for (int delta = warp_size / 2; delta > 0; delta /= 2) {
      const T other = __shfl_xor_sync(full_warp, most, delta);
      const std::int32_t other_at = __shfl_xor_sync(full_warp, at, delta);
      if (other > most || (other == most && other_at < at)) {
        most = other;
        at = other_at;
      }
    }
    return at;
  }
  /// The sum of value(i) for i < n: every 32nd term, then the lanes as a tree.
  template <class T, class F>
  __device__ T sum(std::int32_t n, const F& value) const {
    T total{};
    for (std::int32_t i = lane_id(); i < n; i += warp_size) total += value(i);
    return LogicalWarp<>::all_reduce(total, Plus());
  }
};

/// Group of all threads of a block. Every warp searches for itself, so that none waits for the result of
/// another.
struct BlockGroup : WarpReductions {
  __device__ static std::int64_t rank() { return threadIdx.x; }
  __device__ static std::int64_t size() { return blockDim.x; }
  __device__ static std::int32_t lane() { return lane_id(); }
  __device__ static std::int32_t lanes() { return warp_size; }
  __device__ static std::int32_t line() { return static_cast<std::int32_t>(threadIdx.x) / warp_size; }
  __device__ static std::int32_t lines() { return static_cast<std::int32_t>(blockDim.x) / warp_size; }
  __device__ void sync() const { __syncthreads(); }

  /// The largest of the threads' values, NaN if there is one; for rank 0.
  __device__ double largest(double value) const {
    __shared__ double of_warp[warp_size];
    value = warp_reduce(value, LargestOrNan());
    if (lane() == 0) of_warp[line()] = value;
    __syncthreads();
    value = lane() < lines() ? of_warp[lane()] : 0;
    return warp_reduce(value, LargestOrNan());
  }

 private:
  struct LargestOrNan {
    __device__ double operator()(double a, double b) const { return a > b || a != a ? a : b; }
  };
};

/// Group of the threads of a block that consists of one warp.
struct WarpGroup : WarpReductions {
  __device__ static std::int64_t rank() { return lane_id(); }
  __device__ static std::int64_t size() { return warp_size; }
  __device__ void sync() const { __syncwarp(); }
};

}  // namespace echelon::banded

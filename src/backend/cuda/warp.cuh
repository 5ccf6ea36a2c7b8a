// SPDX-License-Identifier: BSD-3-Clause
/// Warps, in the terms of CUB: lanes, logical warps, shuffles and reductions. Blocks are one-dimensional.
#pragma once

#include <cuda_runtime.h>

#include <cstring>
#include <type_traits>

namespace echelon {

inline constexpr int warp_size = 32;

/// Mask of all lanes of a warp.
inline constexpr unsigned full_warp = 0xffffffffU;

/// Index of this thread's lane in its warp.
__device__ inline int lane_id() {
  return static_cast<int>(threadIdx.x) % warp_size;
}

/// Mask of the lanes before `lane`, which is less than warp_size.
__device__ inline unsigned lanes_before(int lane) {
  return (1U << lane) - 1;
}

/// Value that shuffle(value) takes from another lane. V is arithmetic, or trivially copyable and a multiple
/// of 4 bytes.
template <class V, class Shuffle>
__device__ V shuffle_by(V value, Shuffle shuffle) {
  if constexpr (std::is_arithmetic_v<V>) {
    return static_cast<V>(shuffle(value));
  } else {
    constexpr int words = sizeof(V) / 4;
    static_assert(sizeof(V) % 4 == 0);
    int raw[words];
    memcpy(raw, &value, sizeof(V));
#pragma unroll
    for (int w = 0; w < words; ++w) raw[w] = shuffle(raw[w]);
    memcpy(&value, raw, sizeof(V));
    return value;
  }
}

/// Value of the lane `delta` lanes above.
template <class V>
__device__ V shuffle_down(V value, int delta) {
  return shuffle_by(value, [delta](auto part) { return __shfl_down_sync(full_warp, part, delta); });
}

struct Plus {
  template <class V>
  __device__ V operator()(V a, V b) const {
    return a + b;
  }
};
struct Maximum {
  template <class V>
  __device__ V operator()(V a, V b) const {
    return a > b ? a : b;
  }
};
struct Minimum {
  template <class V>
  __device__ V operator()(V a, V b) const {
    return a < b ? a : b;
  }
};
/// Functor that calls combine() of a Reducible.
struct Combine {
  template <class V>
  __device__ V operator()(V a, V b) const {
    return combine(a, b);
  }
};

/// Combines the values of `lanes` consecutive lanes, a power of two, as a tree; the result is valid in the
/// first of them. All lanes of the warp participate.
template <class V, class Op>
__device__ V warp_reduce(V value, Op op, int lanes = warp_size) {
  for (int delta = lanes / 2; delta > 0; delta /= 2) value = op(value, shuffle_down(value, delta));
  return value;
}
template <class V>
__device__ V warp_sum(V value, int lanes = warp_size) {
  return warp_reduce(value, Plus(), lanes);
}

/// Logical warp: `lanes` consecutive lanes of a warp, a power of two.
template <int lanes_ = warp_size>
struct LogicalWarp {
  static constexpr int lanes = lanes_;
  static_assert(lanes <= warp_size && warp_size % lanes == 0);

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % lanes; }
  /// Lane of the warp that is the first of the logical warp.
  __device__ static int first() { return static_cast<int>(threadIdx.x) % warp_size / lanes * lanes; }
  __device__ static unsigned mask() { return (full_warp >> (warp_size - lanes)) << first(); }
  __device__ static void sync() { __syncwarp(mask()); }
  /// Broadcasts the value of one lane to all lanes.
  template <class V>
  __device__ static V shuffle(V value, int lane) {
    return shuffle_by(value, [lane](auto part) { return __shfl_sync(mask(), part, lane, lanes); });
  }
  /// Value of the lane whose number differs from the calling one's in these bits.
  template <class V>
  __device__ static V shuffle_xor(V value, int bits) {
    return shuffle_by(value, [bits](auto part) { return __shfl_xor_sync(mask(), part, bits, lanes); });
  }
  /// Mask whose bit k is the condition of lane k.
  __device__ static unsigned ballot(bool condition) {
    return (__ballot_sync(mask(), condition) & mask()) >> first();
  }
  /// Combines the values of the lanes by a butterfly reduction; the result is valid in all of them.
  template <class V, class Op>
  __device__ static V all_reduce(V value, Op op) {
    return all_reduce(value, op, mask());
  }
  /// Reduction for callers whose whole warp participates, with full_warp as `mask`.
  template <class V, class Op>
  __device__ static V all_reduce(V value, Op op, unsigned mask) {
#pragma unroll
    for (int delta = lanes / 2; delta > 0; delta /= 2) {
      const auto exchange = [mask, delta](auto part) { return __shfl_xor_sync(mask, part, delta); };
      value = op(value, shuffle_by(value, exchange));
    }
    return value;
  }
};

}  // namespace echelon

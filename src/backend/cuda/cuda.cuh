// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/cuda/check.cuh"
#include "backend/cuda/warp.cuh"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/device.hpp>

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

struct cublasContext;  // a cublasHandle_t points to it

namespace echelon {

namespace cuda_kernels {

inline constexpr int block_size = 256;

/// f(0), ..., f(n-1) by the blocks of one row of the grid.
template <class F>
__device__ void for_each_in_row(std::int64_t n, const F& f) {
  const std::int64_t stride = std::int64_t{gridDim.x} * block_size;
  for (std::int64_t i = std::int64_t{blockIdx.x} * block_size + threadIdx.x; i < n; i += stride) f(i);
}
template <class F>
__global__ void __launch_bounds__(block_size) for_each(std::int64_t n, F f) {
  for_each_in_row(n, f);
}

template <class F>
__global__ void __launch_bounds__(1024) for_each_of_blocks(std::int64_t n, F f) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}

template <class T>
struct Fill {
  T value;
  T* target;
  __device__ void operator()(std::int64_t i) const { target[i] = value; }
};

/// Block-wide reduction of `value` by combine(); valid in thread 0. A barrier must precede the next call.
template <class V>
__device__ V combine_block(V value) {
  __shared__ alignas(V) unsigned char storage[sizeof(V) * block_size / warp_size];
  V* partial = reinterpret_cast<V*>(storage);
  value = warp_reduce(value, Combine());
  if (threadIdx.x % warp_size == 0) partial[threadIdx.x / warp_size] = value;
  __syncthreads();
  if (threadIdx.x < warp_size) {
    value = threadIdx.x < block_size / warp_size ? partial[threadIdx.x] : V{};
    value = warp_reduce(value, Combine(), block_size / warp_size);
  }
  return value;
}

/// Grid-wide reduction. The last block to finish combines the blocks' values in the order of their numbers,
/// so that the result does not depend on timing. Returns true in one thread of that block, whose `value` is
/// the result. `finished` is a counter at zero, which is reset; `partial` holds `blocks` values.
template <class V>
__device__ bool combine_blocks(V& value, unsigned block, unsigned blocks, V* partial, unsigned* finished) {
  __shared__ bool last;
  value = combine_block(value);
  if (threadIdx.x == 0) {
    partial[block] = value;
    __threadfence();
    last = atomicAdd(finished, 1u) == blocks - 1;
  }
  __syncthreads();  // combine_block's storage is free again, too
  if (!last) return false;
  __threadfence();
  value = V{};
  for (unsigned b = threadIdx.x; b < blocks; b += block_size) value = combine(value, partial[b]);
  value = combine_block(value);
  if (threadIdx.x == 0) *finished = 0;
  return threadIdx.x == 0;
}

/// finish(f(0) + ... + f(n-1)) by the blocks of one row of the grid. A thread issues four loads before it
/// adds the first term, to hide their latency.
template <class V, class F, class Finish>
__device__ void reduce_in_row(std::int64_t n, const F& f, const Finish& finish, V* partial,
                              unsigned* finished) {
  constexpr int batch = 4;
  const std::int64_t stride = std::int64_t{gridDim.x} * block_size;
  V value{};
  std::int64_t i = std::int64_t{blockIdx.x} * block_size + threadIdx.x;
  for (; i + (batch - 1) * stride < n; i += batch * stride) {
    V terms[batch];
#pragma unroll
    for (int b = 0; b < batch; ++b) terms[b] = f(i + b * stride);
#pragma unroll
    for (int b = 0; b < batch; ++b) value = combine(value, terms[b]);
  }
  for (; i < n; i += stride) value = combine(value, f(i));
  if (combine_blocks(value, blockIdx.x, gridDim.x, partial, finished)) finish(value);
}
template <class V, class F, class Finish>
__global__ void __launch_bounds__(block_size)
    reduce(std::int64_t n, F f, Finish finish, V* partial, unsigned* finished) {
  reduce_in_row(n, f, finish, partial, finished);
}

/// A segment longer than this is treated by a block.
inline constexpr std::int64_t longest_of_warp = 1024;
/// A segment longer than this is treated by a whole warp, if not by a block.
inline constexpr std::int64_t longest_of_lanes = 64;

/// Number of lanes for each of n segments: a warp if these are few, otherwise a part of one, since many
/// segments are mostly rows of a few elements.
__host__ __device__ constexpr int lanes_of_segments(std::int64_t n) {
  constexpr std::int64_t many = 1 << 12;
  return n < many ? warp_size : 8;
}

/// Calls by_lanes(s, begin, end, lanes) for each segment that is not long, or for an empty one with s >= n:
/// by all lanes of a warp, of which groups of `lanes` have a segment each. Calls by_block(s, begin, end) by a
/// block for each long segment.
template <class ByLanes, class ByBlock>
__device__ void for_each_segment(std::int64_t n, const std::int64_t* offsets, ByLanes by_lanes,
                                 ByBlock by_block) {
  const int lanes = lanes_of_segments(n);
  const int segments = block_size / lanes;
  const std::int64_t longest = lanes == warp_size ? longest_of_warp : longest_of_lanes;
  const std::int64_t stride = std::int64_t{gridDim.x} * segments;
  for (std::int64_t first = std::int64_t{blockIdx.x} * segments; first < n; first += stride) {
    const std::int64_t own = first + static_cast<int>(threadIdx.x) / lanes;
    const std::int64_t begin = own < n ? offsets[own] : 0;
    const std::int64_t end = own < n ? offsets[own + 1] : 0;
    if (__all_sync(full_warp, end - begin <= longest)) {
      by_lanes(own, begin, end, lanes);
    } else {
      const std::int64_t first_of_warp =
          first + static_cast<int>(threadIdx.x) / warp_size * warp_size / lanes;
      for (std::int64_t s = first_of_warp; s < first_of_warp + warp_size / lanes && s < n; ++s) {
        if (offsets[s + 1] - offsets[s] <= longest_of_warp)
          by_lanes(s, offsets[s], offsets[s + 1], warp_size);
      }
    }
    if (!__syncthreads_or(end - begin > longest_of_warp ? 1 : 0)) continue;
    for (std::int64_t s = first; s < first + segments && s < n; ++s) {
      if (offsets[s + 1] - offsets[s] > longest_of_warp) by_block(s, offsets[s], offsets[s + 1]);
    }
  }
}

/// Calls finish(s, sum) with the sum of each segment s, by the blocks of one row of the grid. Lane l of those
/// of a segment, or thread l of the block, combines elements l, l + lanes, ... or l + 256, ...; then their
/// values are reduced as a tree.
template <class V, class F, class Finish>
__device__ void reduce_segments_in_row(std::int64_t n, const std::int64_t* offsets, const F& f,
                                       const Finish& finish) {
  for_each_segment(
      n, offsets,
      [&](std::int64_t s, std::int64_t begin, std::int64_t end, int lanes) {
        const int lane = static_cast<int>(threadIdx.x) % lanes;
        V value{};
        for (std::int64_t k = begin + lane; k < end; k += lanes) value = combine(value, f(k));
        value = warp_reduce(value, Combine(), lanes);
        if (lane == 0 && s < n) finish(s, value);
      },
      [&](std::int64_t s, std::int64_t begin, std::int64_t end) {
        V value{};
        for (std::int64_t k = begin + threadIdx.x; k < end; k += block_size) value = combine(value, f(k));
        value = combine_block(value);
        if (threadIdx.x == 0) finish(s, value);
        __syncthreads();  // combine_block's storage is free again
      });
}
template <class V, class F>
__device__ void segmented_reduce_in_row(std::int64_t n, const std::int64_t* offsets, const F& f, V* sums) {
  reduce_segments_in_row<V>(n, offsets, f, [sums](std::int64_t s, const V& value) { sums[s] = value; });
}
template <class V, class F>
__global__ void __launch_bounds__(block_size)
    segmented_reduce(std::int64_t n, const std::int64_t* offsets, F f, V* sums) {
  segmented_reduce_in_row(n, offsets, f, sums);
}

template <class F>
__device__ void segmented_for_each_in_row(std::int64_t n, const std::int64_t* offsets, const F& f) {
  for_each_segment(
      n, offsets,
      [&](std::int64_t s, std::int64_t begin, std::int64_t end, int lanes) {
        const int lane = static_cast<int>(threadIdx.x) % lanes;
        for (std::int64_t k = begin + lane; k < end; k += lanes) f(s, k);
      },
      [&](std::int64_t s, std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin + threadIdx.x; k < end; k += block_size) f(s, k);
      });
}
template <class F>
__global__ void __launch_bounds__(block_size)
    segmented_for_each(std::int64_t n, const std::int64_t* offsets, F f) {
  segmented_for_each_in_row(n, offsets, f);
}

/// Unsigned integers by size: sorts and selections move values as bits.
template <std::size_t bytes>
struct BitsOf;
template <>
struct BitsOf<4> {
  using Type = std::uint32_t;
};
template <>
struct BitsOf<8> {
  using Type = std::uint64_t;
};
template <class T>
using Bits = typename BitsOf<sizeof(T)>::Type;

}  // namespace cuda_kernels

/// An NVIDIA GPU. Operations are queued on the calling thread's stream; only `read`, `synchronize` and
/// operations that return a number wait for it.
class Cuda {
 public:
  static constexpr bool on_host = false;
  explicit Cuda(const Device& device);
  [[nodiscard]] const Device& device() const { return device_; }

  template <class F>
  void for_each(std::int64_t n, F f) {
    if (n <= 0) return;
    const CurrentDevice current(device_.id());
    cuda_kernels::for_each<<<blocks_for(n, 1), cuda_kernels::block_size, 0, stream()>>>(n, f);
    check(cudaGetLastError());
  }

  /// In blocks of this many threads, at most 1024, one for each element.
  template <class F>
  void for_each(std::int64_t n, F f, unsigned threads) {
    if (n <= 0) return;
    const CurrentDevice current(device_.id());
    const auto blocks = static_cast<unsigned>((n + threads - 1) / threads);
    cuda_kernels::for_each_of_blocks<<<blocks, threads, 0, stream()>>>(n, f);
    check(cudaGetLastError());
  }

  template <class F, class Finish>
  void reduce(std::int64_t n, F f, Finish finish) {
    using V = decltype(f(n));
    const CurrentDevice current(device_.id());
    const unsigned blocks = blocks_for(n, 4);
    cuda_kernels::reduce<V><<<blocks, cuda_kernels::block_size, 0, stream()>>>(
        n, f, finish, static_cast<V*>(scratch(blocks * sizeof(V))), counters(1));
    check(cudaGetLastError());
  }

  std::int64_t exclusive_scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets);
  void scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets);

  template <class K, class V>
  void sort_by_key(std::int64_t n, int first_bit, int last_bit, const K* keys, K* sorted_keys,
                   const V* values, V* sorted_values) {
    using KeyBits = cuda_kernels::Bits<K>;
    using ValueBits = cuda_kernels::Bits<V>;
    static_assert(std::is_unsigned_v<K>);
    sort_pairs(n, first_bit, last_bit, reinterpret_cast<const KeyBits*>(keys),
               reinterpret_cast<KeyBits*>(sorted_keys), reinterpret_cast<const ValueBits*>(values),
               reinterpret_cast<ValueBits*>(sorted_values));
  }
  template <class T>
  std::int64_t select(std::int64_t n, const std::uint8_t* flags, const T* source, T* target) {
    using ValueBits = cuda_kernels::Bits<T>;
    return select_bits(n, flags, reinterpret_cast<const ValueBits*>(source),
                       reinterpret_cast<ValueBits*>(target));
  }
  template <class F, class V>
  void segmented_reduce(std::int64_t n, const std::int64_t* offsets, F f, V* sums) {
    if (n <= 0) return;
    const CurrentDevice current(device_.id());
    cuda_kernels::segmented_reduce<<<blocks_for_segments(n), cuda_kernels::block_size, 0, stream()>>>(
        n, offsets, f, sums);
    check(cudaGetLastError());
  }
  template <class F>
  void segmented_for_each(std::int64_t n, const std::int64_t* offsets, F f) {
    if (n <= 0) return;
    const CurrentDevice current(device_.id());
    cuda_kernels::segmented_for_each<<<blocks_for_segments(n), cuda_kernels::block_size, 0, stream()>>>(
        n, offsets, f);
    check(cudaGetLastError());
  }

  template <class T>
  void copy(std::int64_t n, const T* source, T* target) {
    const CurrentDevice current(device_.id());
    check(cudaMemcpyAsync(target, source, static_cast<std::size_t>(n) * sizeof(T), cudaMemcpyDeviceToDevice,
                          stream()));
  }
  template <class T>
  void fill(std::int64_t n, T value, T* target) {
    for_each(n, cuda_kernels::Fill<T>{value, target});
  }
  template <class V>
  V read(const V* source) {
    V value;
    read_bytes(source, &value, sizeof(V));
    return value;
  }
  template <class V>
  void write(const V& value, V* target) {
    const CurrentDevice current(device_.id());
    check(cudaMemcpyAsync(target, &value, sizeof(V), cudaMemcpyHostToDevice, stream()));
  }
  void synchronize() {
    const CurrentDevice current(device_.id());
    wait_for_stream();
  }
  /// Workspace of at least `bytes` bytes for the next kernel. Kept, and reallocated only when too small.
  void* scratch(std::size_t bytes);
  /// n counters at zero. A kernel that uses them resets them.
  unsigned* counters(std::int64_t n);
  /// A cuBLAS handle on the calling thread's stream, created by the first call.
  cublasContext* blas();

  /// Grid size for n elements, limited to what keeps the GPU busy.
  [[nodiscard]] unsigned blocks_for(std::int64_t n, int elements_per_thread) const {
    const std::int64_t per_block = std::int64_t{cuda_kernels::block_size} * elements_per_thread;
    return static_cast<unsigned>(std::clamp<std::int64_t>((n + per_block - 1) / per_block, 1, max_blocks_));
  }
  /// Grid size for n segments.
  [[nodiscard]] unsigned blocks_for_segments(std::int64_t n) const {
    return blocks_for(n * cuda_kernels::lanes_of_segments(n), 1);
  }

 private:
  /// Copies to the host, and waits.
  void read_bytes(const void* source, void* target, std::size_t bytes);

  struct DestroyBlas {
    void operator()(cublasContext* handle) const;
  };

  template <class Call>
  std::int64_t* with_cub_scratch(Call call);
  template <class K, class V>
  void sort_pairs(std::int64_t n, int first_bit, int last_bit, const K* keys, K* sorted_keys, const V* values,
                  V* sorted_values);
  template <class V>
  std::int64_t select_bits(std::int64_t n, const std::uint8_t* flags, const V* source, V* target);

  Device device_;
  std::int64_t max_blocks_ = 0;
  Array<unsigned char> scratch_;
  Array<unsigned> counters_;
  std::unique_ptr<cublasContext, DestroyBlas> blas_;
};

}  // namespace echelon

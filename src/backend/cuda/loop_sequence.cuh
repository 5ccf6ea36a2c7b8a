// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/grid.cuh"

#include <algorithm>
#include <cstdint>

namespace echelon {

namespace cuda_kernels {

struct IntegerSum {
  std::int64_t value = 0;
  friend __device__ IntegerSum combine(IntegerSum a, IntegerSum b) { return {a.value + b.value}; }
};

/// Sum of the values of the threads before the calling one in its block, and of all of them.
struct BlockPrefix {
  std::int64_t before;
  std::int64_t total;
};
/// All threads of the block participate. Begins and ends with a barrier for the block.
__device__ inline BlockPrefix scan_block(std::int64_t value) {
  constexpr int warps = block_size / warp_size;
  __shared__ std::int64_t totals[warps];
  const int lane = lane_id();
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  std::int64_t sum = value;
#pragma unroll
  for (int delta = 1; delta < warp_size; delta *= 2) {
    const std::int64_t other = __shfl_up_sync(full_warp, sum, delta);
    if (lane >= delta) sum += other;
  }
  __syncthreads();
  if (lane == warp_size - 1) totals[warp] = sum;
  __syncthreads();
  BlockPrefix result{sum - value, 0};
#pragma unroll
  for (int w = 0; w < warps; ++w) {
    if (w < warp) result.before += totals[w];
    result.total += totals[w];
  }
  return result;
}

/// The loops of a sequence by a grid whose blocks are all resident. Each loop ends with a barrier.
class GridLoops {
 public:
  /// `counters` are two counters at zero, which finish() resets, `partial` has a number for each block.
  __device__ GridLoops(unsigned* counters, std::int64_t* partial)
      : counters_(counters), barrier_(counters), partial_(partial) {}

  template <class F>
  __device__ void for_each(std::int64_t n, const F& f) {
    for_each_in_row(n, f);
    barrier_.wait();
  }
  template <class T>
  __device__ void fill(std::int64_t n, T value, T* target) {
    for_each(n, Fill<T>{value, target});
  }
  template <class T>
  __device__ void copy(std::int64_t n, const T* source, T* target) {
    for_each(n, Copy<T>{source, target});
  }
  template <class F, class V>
  __device__ void segmented_reduce(std::int64_t n, const std::int64_t* offsets, const F& f, V* sums) {
    segmented_reduce_in_row(n, offsets, f, sums);
    barrier_.wait();
  }
  template <class F>
  __device__ void segmented_for_each(std::int64_t n, const std::int64_t* offsets, const F& f) {
    segmented_for_each_in_row(n, offsets, f);
    barrier_.wait();
  }

  /// Two passes: each block sums its part, then scans it from the sum of the parts before.
  __device__ void scan(std::int64_t n, const std::int64_t* counts, std::int64_t* offsets) {
    const std::int64_t begin = n * blockIdx.x / gridDim.x;
    const std::int64_t end = n * (blockIdx.x + 1) / gridDim.x;
    IntegerSum sum;
    for (std::int64_t i = begin + threadIdx.x; i < end; i += block_size) sum.value += counts[i];
    sum = combine_block(sum);
    if (threadIdx.x == 0) partial_[blockIdx.x] = sum.value;
    barrier_.wait();
    std::int64_t before = 0;
    for (unsigned b = threadIdx.x; b < blockIdx.x; b += block_size) before += partial_[b];
    std::int64_t carry = scan_block(before).total;
    for (std::int64_t first = begin; first < end; first += block_size) {
      const std::int64_t i = first + threadIdx.x;
      const BlockPrefix prefix = scan_block(i < end ? counts[i] : 0);
      if (i < end) offsets[i] = carry + prefix.before;
      carry += prefix.total;
    }
    if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) offsets[n] = carry;
    barrier_.wait();
  }

  /// Called once, after the last loop, by all threads.
  __device__ void finish() {
    if (threadIdx.x != 0 || atomicAdd(counters_ + 1, 1U) != gridDim.x - 1) return;
    counters_[0] = 0;
    counters_[1] = 0;
  }

 private:
  template <class T>
  struct Copy {
    const T* source;
    T* target;
    __device__ void operator()(std::int64_t i) const { target[i] = source[i]; }
  };

  unsigned* counters_;
  GridBarrier barrier_;
  std::int64_t* partial_;
};

/// Blocks for each multiprocessor, which share its registers.
inline constexpr int sequence_blocks = 4;

template <class Sequence>
__global__ void __launch_bounds__(block_size, sequence_blocks)
    run_sequence(const __grid_constant__ Sequence sequence, std::int64_t* partial, unsigned* counters) {
  GridLoops loops(counters, partial);
  sequence(loops);
  loops.finish();
}

}  // namespace cuda_kernels

/// Runs a sequence of loops over about `elements` elements each: as one kernel if these are few.
template <class Sequence>
void run_sequence(Cuda& backend, std::int64_t elements, const Sequence& sequence) {
  constexpr std::int64_t few = std::int64_t{1} << 18;
  if (elements > few) {
    sequence(backend);
    return;
  }
  const CurrentDevice current(backend.device().id());
  const unsigned blocks = std::min(backend.blocks_for(elements, 1),
                                   cuda_kernels::sequence_blocks * multiprocessors(backend.device()));
  auto* partial = static_cast<std::int64_t*>(backend.scratch(blocks * sizeof(std::int64_t)));
  launch_grid(cuda_kernels::run_sequence<Sequence>, {blocks, cuda_kernels::block_size, 0, stream()}, sequence,
              partial, backend.counters(2));
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Kernels that follow a sweep: they mark vectors as not ready and copy results.
#pragma once

#include "relaxation/gauss_seidel/cuda/device_sweep.cuh"
#include "relaxation/gauss_seidel/cuda/gpu.cuh"

namespace echelon::gauss_seidel {

/// Columns of a column-major matrix. Functors of a row visit all columns.
template <class T>
struct VectorBlock {
  T* data;
  std::int64_t leading;
};

template <class T>
__device__ void mark_not_ready(T* element) {
  *element = to_value<T>(not_ready<T>);
}

/// Marks all elements of a vector as not ready, so that the next sweep can write it. The vector is not read
/// any more.
template <class T>
struct ClearVector {
  const IterationState* state;
  std::int64_t right_hand_sides;
  VectorBlock<T> x;
  __device__ void operator()(std::int64_t i) const {
    if (state != nullptr && !state->running()) return;
    for (std::int64_t k = 0; k < right_hand_sides; ++k) mark_not_ready(x.data + i + k * x.leading);
  }
  template <int count>
  __device__ void apply(std::int64_t first, std::int64_t stride, std::int64_t rows) const {
#pragma unroll
    for (int e = 0; e < count; ++e) {
      if (first + e * stride < rows) (*this)(first + e * stride);
    }
  }
};

/// Copies the result to the caller's vector and marks the source as not ready.
template <class T>
struct CopyAndClear {
  const IterationState* state;
  std::int64_t right_hand_sides;
  VectorBlock<T> source;
  VectorBlock<T> target;
  /// All loads come before the stores, so that they are in flight together.
  template <int count>
  __device__ void apply(std::int64_t first, std::int64_t stride, std::int64_t rows) const {
    if (state != nullptr && !state->running()) return;
    for (std::int64_t k = 0; k < right_hand_sides; ++k) {
      T* const from = source.data + k * source.leading;
      T* const to = target.data + k * target.leading;
      T value[count];
#pragma unroll
      for (int e = 0; e < count; ++e) {
        if (first + e * stride < rows) value[e] = from[first + e * stride];
      }
#pragma unroll
      for (int e = 0; e < count; ++e) {
        if (first + e * stride >= rows) continue;
        to[first + e * stride] = value[e];
        mark_not_ready(from + first + e * stride);
      }
    }
  }
};

struct ResetSkipped {
  const IterationState* state;
  SkippedRows* skipped;
  __device__ void operator()(std::int64_t /*i*/) const {
    if (state == nullptr || state->running()) *skipped = {};
  }
};

/// Kernel that follows a sweep. Its blocks may be resident before the sweep has ended, and wait for that.
inline constexpr int vector_block_threads = 256;
inline constexpr int vector_rows_per_thread = 4;
template <class F>
__global__ void __launch_bounds__(vector_block_threads) vector_kernel(std::int64_t rows, F f) {
  wait_for_previous_kernel();
  const std::int64_t first = std::int64_t{blockIdx.x} * (vector_block_threads * vector_rows_per_thread);
  f.template apply<vector_rows_per_thread>(first + threadIdx.x, vector_block_threads, rows);
}

template <class F>
void launch_vector_kernel(const Gpu& gpu, std::int64_t rows, F f) {
  constexpr std::int64_t rows_of_block = vector_block_threads * vector_rows_per_thread;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.blockDim = vector_block_threads;
  config.gridDim = static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block);
  config.stream = stream();
  config.attrs = &early;
  config.numAttrs = gpu.launches_early ? 1 : 0;
  check(cudaLaunchKernelEx(&config, vector_kernel<F>, rows, f));
}

}  // namespace echelon::gauss_seidel

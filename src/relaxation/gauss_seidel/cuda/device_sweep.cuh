// SPDX-License-Identifier: BSD-3-Clause
/// What all sweeps on a GPU have in common: values that are their own flags, the task, and sums that a warp
/// takes.
#pragma once

#include "relaxation/gauss_seidel/row.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"
#include "solver/iteration.hpp"

#include <cuda/atomic>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace echelon::gauss_seidel {

inline constexpr unsigned every_lane = 0xffffffffu;
inline constexpr int warp_lanes = 32;
static_assert(chain_limit == warp_lanes);

/// An element of x as it lies in memory.
template <class T>
using Word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

/// The word that stands for "no value yet": a NaN that no sweep publishes. All bytes alike.
template <class T>
inline constexpr Word<T> unpublished = ~Word<T>{0};

template <class T>
ECHELON_ANYWHERE Word<T> to_word(T value) {
  Word<T> word;
  memcpy(&word, &value, sizeof word);
  return word;
}
template <class T>
ECHELON_ANYWHERE T to_value(Word<T> word) {
  T value;
  memcpy(&value, &word, sizeof value);
  return value;
}

/// How a sweep goes through the rows.
enum class Way { chunks, lines, walk };

/// In place of a length of lines: the sweep is done by walking.
inline constexpr std::int32_t by_walking = -1;

/// Lets the blocks of the next kernel start when all of this one's have, if it was launched so.
__device__ inline void let_next_start() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}
/// Waits for the end of the kernel before, in one that may start early.
__device__ inline void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// A forward or backward sweep over one or several right-hand sides.
template <class T>
struct DeviceSweep {
  std::int64_t rows;
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  const T* values;
  unsigned right_hand_sides;
  const T* b;
  std::int64_t leading_b;
  const T* old;
  std::int64_t leading_old;
  T* x;  ///< all unpublished
  std::int64_t leading_x;
  /// Unless null, the sums left of the diagonal of the rows from first_kept on, those rows by right-hand
  /// sides: a forward sweep writes them, a backward one reads them instead of that half of the matrix.
  T* lower;
  std::int64_t first_kept;
  Relaxation<T> relaxation;
  const IterationState* state;
  SkippedRows* skipped;
  unsigned* tickets;  ///< 0, and left so
  /// Null or 0: the sweep is done by chunks; positive: along lines of so many rows; or by_walking.
  const std::int32_t* line_length;

  [[nodiscard]] __device__ bool is_wanted(Way way) const {
    if (state != nullptr && !state->running()) return false;
    const std::int32_t length = line_length == nullptr ? 0 : *line_length;
    return way == (length == 0 ? Way::chunks : length > 0 ? Way::lines : Way::walk);
  }
  /// Null unless the row's sum is kept.
  [[nodiscard]] __device__ T* lower_sum(unsigned side, std::int64_t row) const {
    if (lower == nullptr || row < first_kept) return nullptr;
    return lower + side * (rows - first_kept) + row - first_kept;
  }
};

__device__ inline void count_skipped(SkippedRows& skipped, std::int64_t row) {
  atomicAdd(reinterpret_cast<unsigned long long*>(&skipped.count), 1ull);
  atomicMin(reinterpret_cast<long long*>(&skipped.first), static_cast<long long>(row));
}

/// Values that are known before the sweep.
template <class T>
struct KnownValues {
  const T* x;
  [[nodiscard]] __device__ Word<T> look(std::int32_t column) const { return to_word(x[column]); }
  [[nodiscard]] __device__ T wait(std::int32_t /*column*/, Word<T> seen) const { return to_value<T>(seen); }
};

/// The lanes' sums added up, valid in lane 0.
template <class T>
__device__ T add_tree(T sum) {
  for (int width = warp_lanes / 2; width > 0; width /= 2) sum += __shfl_down_sync(every_lane, sum, width);
  return sum;
}

/// The sum of a part of more than 32 elements, taken by a warp and valid in all its lanes: partial sums by
/// the lanes, with a few loads of each under way, then the tree. Values may keep it waiting.
template <class T, class Values>
__device__ T tree_by_warp(const std::int32_t* columns, const T* coefficients, const Part& part,
                          const Values& x) {
  constexpr int batch = 4;
  T coefficient[batch];
  std::int32_t column[batch];
  Word<T> seen[batch];
  T sum = 0;
  for (std::int64_t e = threadIdx.x % warp_lanes; e < part.count; e += batch * warp_lanes) {
    const int here =
        static_cast<int>(min((part.count - e + warp_lanes - 1) / warp_lanes, std::int64_t{batch}));
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (k >= here) break;
      const std::int64_t element = part.first + (e + k * warp_lanes) * part.step;
      column[k] = columns[element];
      coefficient[k] = coefficients[element];
    }
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (k < here) seen[k] = x.look(column[k]);
    }
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (k < here) sum = multiply_add(coefficient[k], x.wait(column[k], seen[k]), sum);
    }
  }
  __syncwarp();
  return __shfl_sync(every_lane, add_tree(sum), 0);
}

/// Brings an array to the L2 cache, by all threads of the block.
template <class V>
__device__ void prefetch_array(const V* array, std::int64_t count) {
  constexpr int line = 128 / static_cast<int>(sizeof(V));
  for (std::int64_t k = static_cast<int>(threadIdx.x) * line; k < count;
       k += static_cast<int>(blockDim.x) * line) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(array + k));
  }
}

/// Of a block: what lies in it each way of sweeping says.
extern __shared__ __align__(16) unsigned char gauss_seidel_storage[];

}  // namespace echelon::gauss_seidel

// SPDX-License-Identifier: BSD-3-Clause
/// Arguments of one sweep, and the building blocks that all sweep kernels share: values that are their own
/// ready flags, and sums by a warp.
#pragma once

#include "backend/cuda/warp.cuh"
#include "relaxation/gauss_seidel/row.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <cuda/atomic>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace echelon::gauss_seidel {

static_assert(chain_limit == warp_size);

/// An element of x as an integer, so that it can be read and written in one piece and compared bit for bit.
template <class T>
using Word = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;

/// Marks an element of x that has no value yet: a NaN with all bits set, which no sweep ever writes (see
/// canonical). A value is thus its own ready flag, and one relaxed load tells both. All bytes are equal.
template <class T>
inline constexpr Word<T> not_ready = ~Word<T>{0};

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

/// Order in which a kernel goes through the rows. All strategies give the same bits.
///
/// - chunks: a block sweeps over consecutive rows, a lane for each row or a warp for each long row
/// (chunks.cuh, long_rows.cuh);
/// - lines: a lane sweeps over a line of a grid (lines.cuh);
/// - regions: a block sweeps over a large region and defers rows that need values of other regions
/// (regions.cuh).
enum class Strategy { chunks, lines, regions };

/// Value of DeviceSweep::line_length that selects Strategy::regions.
inline constexpr std::int32_t regions_selected = -1;

/// Allows the next kernel of the stream to start before this one ends (programmatic dependent launch), once
/// all blocks of this one have called it. No effect before compute capability 9.
__device__ inline void trigger_dependent_launch() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}
/// Waits until the previous kernel of the stream has ended, in a kernel that may start before that.
__device__ inline void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// One forward or backward sweep over one or several right-hand sides: n-by-n matrix A in CSR, b and both
/// vectors x column-major. All pointers are to device memory.
template <class T>
struct DeviceSweep {
  std::int64_t rows;
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  const T* values;
  unsigned right_hand_sides;
  const T* b;
  std::int64_t leading_b;
  const T* old;  ///< x before the sweep; another vector than x, so the pattern of A need not be symmetric
  std::int64_t leading_old;
  T* x;  ///< x after the sweep; all elements are not_ready at first
  std::int64_t leading_x;
  /// Null, or the sums left of the diagonal of rows first_stored_sum, …, rows - 1, column-major with one
  /// column per right-hand side. The forward half of a symmetric sweep writes them; the backward half reads
  /// them instead of the lower triangle.
  T* lower_sums;
  std::int64_t first_stored_sum;
  Relaxation<T> relaxation;
  const IterationState* state;
  SkippedRows* skipped;
  unsigned* tickets;  ///< ticket counter by which running blocks take work: 0 before and after every kernel
  /// Selected strategy, determined on the device: null or 0 for chunks; the length of a line in rows for
  /// lines; or regions_selected.
  const std::int32_t* line_length;

  [[nodiscard]] __device__ bool selects(Strategy strategy) const {
    if (state != nullptr && !state->running()) return false;
    const std::int32_t length = line_length == nullptr ? 0 : *line_length;
    return strategy == (length == 0 ? Strategy::chunks : length > 0 ? Strategy::lines : Strategy::regions);
  }
  /// Location of the sum left of the diagonal of a row, or null if it is not stored.
  [[nodiscard]] __device__ T* lower_sum(unsigned rhs, std::int64_t row) const {
    if (lower_sums == nullptr || row < first_stored_sum) return nullptr;
    return lower_sums + rhs * (rows - first_stored_sum) + row - first_stored_sum;
  }
};

__device__ inline void count_skipped(SkippedRows& skipped, std::int64_t row) {
  atomicAdd(reinterpret_cast<unsigned long long*>(&skipped.count), 1ull);
  atomicMin(reinterpret_cast<long long*>(&skipped.first), static_cast<long long>(row));
}

/// Values that are known before the sweep. Like every class of values, it splits a read into load(), which
/// returns at once, and await(), so that several loads can be in flight.
template <class T>
struct KnownValues {
  const T* x;
  [[nodiscard]] __device__ Word<T> load(std::int32_t column) const { return to_word(x[column]); }
  [[nodiscard]] __device__ T await(std::int32_t /*column*/, Word<T> loaded) const {
    return to_value<T>(loaded);
  }
};

/// Sum of a part of more than chain_limit elements, as row.hpp defines it; valid in all lanes. Lane l adds
/// elements l, l + 32, … with several loads in flight; warp_sum() adds the lanes' sums as the same tree.
/// Blocks until all values are ready. Warp-collective.
template <class T, class Values>
__device__ T long_part_sum(const std::int32_t* columns, const T* coefficients, const RowSide& part,
                           const Values& x) {
  constexpr int batch = 4;
  T coefficient[batch];
  std::int32_t column[batch];
  Word<T> loaded[batch];
  T sum = 0;
  for (std::int64_t e = threadIdx.x % warp_size; e < part.count; e += batch * warp_size) {
    const int pending =
        static_cast<int>(min((part.count - e + warp_size - 1) / warp_size, std::int64_t{batch}));
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (k >= pending) break;
      const std::int64_t element = part.first + (e + k * warp_size) * part.step;
      column[k] = columns[element];
      coefficient[k] = coefficients[element];
    }
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (k < pending) loaded[k] = x.load(column[k]);
    }
#pragma unroll
    for (int k = 0; k < batch; ++k) {
      if (k < pending) sum = multiply_add(coefficient[k], x.await(column[k], loaded[k]), sum);
    }
  }
  __syncwarp();
  return __shfl_sync(full_warp, warp_sum(sum), 0);
}

/// Prefetches an array into the L2 cache, one request per line of 128 bytes. Block-collective.
template <class V>
__device__ void prefetch_array(const V* array, std::int64_t count) {
  constexpr int line = 128 / static_cast<int>(sizeof(V));
  for (std::int64_t k = static_cast<int>(threadIdx.x) * line; k < count;
       k += static_cast<int>(blockDim.x) * line) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(array + k));
  }
}

/// Dynamic shared memory of a block. Each strategy defines its own layout.
extern __shared__ __align__(16) unsigned char gauss_seidel_storage[];

}  // namespace echelon::gauss_seidel

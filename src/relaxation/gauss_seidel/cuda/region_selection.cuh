// SPDX-License-Identifier: BSD-3-Clause
/// Selection of a strategy from a sample of the rows, on the device: the host neither waits for the result
/// nor reads it.
#pragma once

#include "backend/cuda/check.cuh"
#include "relaxation/gauss_seidel/cuda/device_sweep.cuh"

#include <cstdint>

namespace echelon::gauss_seidel {

/// Pattern of a matrix, and samples of consecutive rows in the order of the sweep.
struct RowSample {
  static constexpr int size = 2048;
  static constexpr int samples = 4;
  /// Values from this far away are assumed to be ready in time.
  static constexpr int distant = 65'536;
  /// Values up to this distance are assumed to be in the ring. A tile has room for two values per row from
  /// outside.
  static constexpr int ring_reach = 512;
  /// Longest chain of dependent rows in a sample; with longer chains, sweeps by chunks are faster.
  static constexpr int max_depth = 64;

  std::int64_t rows;
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;

  [[nodiscard]] __device__ std::int64_t row_at(bool forward, std::int64_t position) const {
    return forward ? position : rows - 1 - position;
  }
};

/// Pattern of one sample in shared memory, which is evaluated repeatedly.
struct StagedSample {
  static constexpr int capacity =
      RowSample::size * 5 / 2;  ///< with more elements per row, tiles would exceed their capacity
  std::int32_t columns[capacity];
  std::int32_t offsets[RowSample::size + 1];
  unsigned char deferred[RowSample::size];  ///< 1: the row would be deferred

  /// Loads the sample that begins at position `first`. Returns false if it has too many elements.
  /// Block-collective.
  __device__ bool load(const RowSample& sample, bool forward, std::int64_t first) {
    const auto threads = static_cast<int>(blockDim.x);
    const std::int64_t lowest = sample.row_at(forward, forward ? first : first + RowSample::size - 1);
    const std::int64_t begin = sample.row_offsets[lowest];
    const std::int64_t count = sample.row_offsets[lowest + RowSample::size] - begin;
    if (count > capacity) return false;
    for (int r = static_cast<int>(threadIdx.x); r <= RowSample::size; r += threads) {
      offsets[r] = static_cast<std::int32_t>(sample.row_offsets[lowest + r] - begin);
      if (r < RowSample::size) deferred[r] = 0;
    }
    for (int k = static_cast<int>(threadIdx.x); k < count; k += threads) {
      columns[k] = sample.column_indices[begin + k];
    }
    return true;
  }
};

/// Numbers of elements that are known before the sweep, and that lie outside the ring.
struct ElementCounts {
  int known = 0;
  int far = 0;
};

/// Returns 1 if a row would be deferred, given which other rows of the sample are.
template <bool forward>
__device__ unsigned char is_deferred(const RowSample& sample, const StagedSample& staged, std::int64_t first,
                                     int local, ElementCounts& counts) {
  const auto i = static_cast<std::int32_t>(sample.row_at(forward, first + local));
  const int stored = forward ? local : RowSample::size - 1 - local;
  for (int k = staged.offsets[stored]; k < staged.offsets[stored + 1]; ++k) {
    const int ahead = forward ? i - staged.columns[k] : staged.columns[k] - i;
    if (ahead < 0) ++counts.known;
    if (ahead > RowSample::ring_reach) ++counts.far;
    if (ahead <= 0 || ahead > RowSample::distant) continue;
    if (ahead > local || staged.deferred[local - ahead] != 0) return 1;
  }
  return 0;
}

/// Returns true if few rows of a sample would be deferred, and few elements are known before the sweep or lie
/// outside the ring. Block-collective.
template <bool forward>
__device__ bool regions_pay_off(const RowSample& sample, std::int64_t first, StagedSample& staged) {
  if (!staged.load(sample, forward, first)) return false;
  const auto threads = static_cast<int>(blockDim.x);
  ElementCounts counts;
  int deferred_count = 0;
  bool changed = true;
  for (int depth = 0; __syncthreads_or(changed) != 0; ++depth) {
    if (depth > RowSample::max_depth) return false;
    changed = false;
    counts = {};
    deferred_count = 0;
    for (int r = static_cast<int>(threadIdx.x); r < RowSample::size; r += threads) {
      const unsigned char deferred_now = is_deferred<forward>(sample, staged, first, r, counts);
      changed = changed || deferred_now != staged.deferred[r];
      staged.deferred[r] = deferred_now;
      if (r >= RowSample::size / 2) deferred_count += deferred_now;
    }
  }
  __shared__ int sums[3];
  if (threadIdx.x < 3) sums[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(sums, deferred_count);
  atomicAdd(sums + 1, counts.known);
  atomicAdd(sums + 2, counts.far);
  __syncthreads();
  return sums[0] <= RowSample::size / 8 && sums[1] <= RowSample::size / 8 && sums[2] <= RowSample::size;
}

/// Selects regions or the strategy found before, separately for forward and backward sweeps. The grid has one
/// block for each direction (forward first) and sample. Both elements of `strategies` are regions_selected on
/// entry; a block that rejects regions writes the earlier result. `line_length`: that result, or null for
/// chunks. `always`: accept regions whatever the sample says, unless lines have been found.
static __global__ void __launch_bounds__(1024)
    select_strategies(const RowSample sample, const std::int32_t* line_length, bool always,
                      std::int32_t* strategies) {
  const bool forward = blockIdx.x < RowSample::samples;
  const auto s = static_cast<int>(blockIdx.x) % RowSample::samples;
  const std::int32_t found = line_length == nullptr ? 0 : *line_length;
  bool use_regions = found == 0;
  if (use_regions && !always) {
    const std::int64_t first = (sample.rows - RowSample::size) * (2 * s + 1) / (2 * RowSample::samples);
    __shared__ StagedSample staged;
    use_regions = forward ? regions_pay_off<true>(sample, first, staged)
                          : regions_pay_off<false>(sample, first, staged);
  }
  if (threadIdx.x == 0 && !use_regions) atomicExch(strategies + (forward ? 0 : 1), found);
}

}  // namespace echelon::gauss_seidel

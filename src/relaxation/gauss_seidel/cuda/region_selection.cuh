// SPDX-License-Identifier: BSD-3-Clause
/// Finds out whether walking pays, from a few thousand rows, without the host's knowing the answer: nobody
/// waits for it.
#pragma once

#include "backend/cuda/check.cuh"
#include "relaxation/gauss_seidel/cuda/device_sweep.cuh"

#include <cstdint>

namespace echelon::gauss_seidel {

/// A matrix's pattern, and rows of it one after another in the order of a sweep.
struct RowSample {
  static constexpr int size = 2048;
  static constexpr int samples = 4;
  /// From so far away, values are there in time.
  static constexpr int far = 65'536;
  /// Values that are not farther away are at hand while walking; of others a tile has room for two a row.
  static constexpr int at_hand = 512;
  /// Rows that wait for each other one after another, more than these, are better followed by chunks.
  static constexpr int deepest = 64;

  std::int64_t rows;
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;

  [[nodiscard]] __device__ std::int64_t row_at(bool forward, std::int64_t position) const {
    return forward ? position : rows - 1 - position;
  }
};

/// A sample in shared memory, where a sample's rows are looked at again and again.
struct StagedSample {
  static constexpr int room = RowSample::size * 5 / 2;  ///< with more elements, tiles would be left over
  std::int32_t columns[room];
  std::int32_t offsets[RowSample::size + 1];
  unsigned char left[RowSample::size];  ///< the row is left over

  /// The sample's rows lie from position `first` on. False if they have too many elements. All threads of the
  /// block.
  __device__ bool bring(const RowSample& sample, bool forward, std::int64_t first) {
    const auto threads = static_cast<int>(blockDim.x);
    const std::int64_t lowest = sample.row_at(forward, forward ? first : first + RowSample::size - 1);
    const std::int64_t begin = sample.row_offsets[lowest];
    const std::int64_t count = sample.row_offsets[lowest + RowSample::size] - begin;
    if (count > room) return false;
    for (int r = static_cast<int>(threadIdx.x); r <= RowSample::size; r += threads) {
      offsets[r] = static_cast<std::int32_t>(sample.row_offsets[lowest + r] - begin);
      if (r < RowSample::size) left[r] = 0;
    }
    for (int k = static_cast<int>(threadIdx.x); k < count; k += threads) {
      columns[k] = sample.column_indices[begin + k];
    }
    return true;
  }
};

/// How many elements of some rows are known before the sweep, and how many are too far away to be at hand.
struct ElementCounts {
  int known = 0;
  int far = 0;
};

/// What a row's pattern says, given which rows of the sample are left over: 1 if it is itself.
template <bool forward>
__device__ unsigned char is_left(const RowSample& sample, const StagedSample& staged, std::int64_t first,
                                 int local, ElementCounts& counts) {
  const auto i = static_cast<std::int32_t>(sample.row_at(forward, first + local));
  const int stored = forward ? local : RowSample::size - 1 - local;
  for (int k = staged.offsets[stored]; k < staged.offsets[stored + 1]; ++k) {
    const int ahead = forward ? i - staged.columns[k] : staged.columns[k] - i;
    if (ahead < 0) ++counts.known;
    if (ahead > RowSample::at_hand) ++counts.far;
    if (ahead <= 0 || ahead > RowSample::far) continue;
    if (ahead > local || staged.left[local - ahead] != 0) return 1;
  }
  return 0;
}

/// Whether few of a sample's rows would be left over, and few have elements whose values are old or far away.
/// All threads of the block.
template <bool forward>
__device__ bool walking_pays(const RowSample& sample, std::int64_t first, StagedSample& staged) {
  if (!staged.bring(sample, forward, first)) return false;
  const auto threads = static_cast<int>(blockDim.x);
  ElementCounts counts;
  int lefts = 0;
  bool changed = true;
  for (int depth = 0; __syncthreads_or(changed) != 0; ++depth) {
    if (depth > RowSample::deepest) return false;
    changed = false;
    counts = {};
    lefts = 0;
    for (int r = static_cast<int>(threadIdx.x); r < RowSample::size; r += threads) {
      const unsigned char now = is_left<forward>(sample, staged, first, r, counts);
      changed = changed || now != staged.left[r];
      staged.left[r] = now;
      if (r >= RowSample::size / 2) lefts += now;
    }
  }
  __shared__ int sums[3];
  if (threadIdx.x < 3) sums[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(sums, lefts);
  atomicAdd(sums + 1, counts.known);
  atomicAdd(sums + 2, counts.far);
  __syncthreads();
  return sums[0] <= RowSample::size / 8 && sums[1] <= RowSample::size / 8 && sums[2] <= RowSample::size;
}

/// A block for each direction, forward first, and sample; `ways` says "walk" before, and what a block has
/// found otherwise. `line_length`: what was found before, unless null; `always`: walk in any case.
static __global__ void __launch_bounds__(1024)
    choose_ways(const RowSample sample, const std::int32_t* line_length, bool always, std::int32_t* ways) {
  const bool forward = blockIdx.x < RowSample::samples;
  const auto s = static_cast<int>(blockIdx.x) % RowSample::samples;
  const std::int32_t found = line_length == nullptr ? 0 : *line_length;
  bool walks = found == 0;
  if (walks && !always) {
    const std::int64_t first = (sample.rows - RowSample::size) * (2 * s + 1) / (2 * RowSample::samples);
    __shared__ StagedSample staged;
    walks = forward ? walking_pays<true>(sample, first, staged) : walking_pays<false>(sample, first, staged);
  }
  if (threadIdx.x == 0 && !walks) atomicExch(ways + (forward ? 0 : 1), found);
}

}  // namespace echelon::gauss_seidel

// SPDX-License-Identifier: BSD-3-Clause
/// Finds out whether walking pays, from a few thousand rows, without the host's knowing the answer: nobody
/// waits for it.
#pragma once

#include "backend/cuda/check.cuh"
#include "relaxation/gauss_seidel_kernel.cuh"

#include <cstdint>

namespace echelon::gauss_seidel {

/// A matrix's pattern, and rows of it one after another in the order of a sweep.
struct RowSample {
  static constexpr int size = 2048;
  static constexpr int samples = 4;
  /// From so far away, values are there in time.
  static constexpr int far = 65'536;
  /// Rows that wait for each other one after another, more than these, are better followed by chunks.
  static constexpr int deepest = 64;

  std::int64_t rows;
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;

  /// What a row's pattern says, given which rows of the sample are left over: 1 if it is itself.
  template <bool forward>
  [[nodiscard]] __device__ unsigned char is_left(std::int64_t first, int local, const unsigned char* left,
                                                 int& known) const {
    const std::int64_t i = forward ? first + local : rows - 1 - first - local;
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      const std::int64_t ahead = forward ? i - column_indices[k] : column_indices[k] - i;
      if (ahead < 0) ++known;
      if (ahead <= 0 || ahead > far) continue;
      if (ahead > local || left[local - ahead] != 0) return 1;
    }
    return 0;
  }
};

/// Whether few of a sample's rows would be left over, and few have elements whose values are old. All threads
/// of the block.
template <bool forward>
__device__ bool walking_pays(const RowSample& sample, std::int64_t first) {
  __shared__ unsigned char left[RowSample::size];
  const auto threads = static_cast<int>(blockDim.x);
  for (int r = static_cast<int>(threadIdx.x); r < RowSample::size; r += threads) left[r] = 0;
  int known = 0;
  int count = 0;
  bool changed = true;
  for (int depth = 0; __syncthreads_or(changed) != 0; ++depth) {
    if (depth > RowSample::deepest) return false;
    changed = false;
    known = 0;
    count = 0;
    for (int r = static_cast<int>(threadIdx.x); r < RowSample::size; r += threads) {
      const unsigned char now = sample.is_left<forward>(first, r, left, known);
      changed = changed || now != left[r];
      left[r] = now;
      if (r >= RowSample::size / 2) count += now;
    }
  }
  __shared__ int lefts;
  __shared__ int knowns;
  if (threadIdx.x == 0) lefts = knowns = 0;
  __syncthreads();
  atomicAdd(&lefts, count);
  atomicAdd(&knowns, known);
  __syncthreads();
  return lefts <= RowSample::size / 8 && knowns <= RowSample::size / 8;
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
    walks = forward ? walking_pays<true>(sample, first) : walking_pays<false>(sample, first);
  }
  if (threadIdx.x == 0 && !walks) atomicExch(ways + (forward ? 0 : 1), found);
}

}  // namespace echelon::gauss_seidel

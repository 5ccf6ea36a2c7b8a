// SPDX-License-Identifier: BSD-3-Clause
/// Finds out whether a matrix may have its rows in lines, from a thousand of them, without the host's knowing
/// the answer: nobody waits for it.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "relaxation/gauss_seidel/cuda/line_detection.hpp"
#include "relaxation/gauss_seidel/row.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"
#include "support/hash.hpp"

#include <cstdint>

namespace echelon::gauss_seidel {

inline constexpr int sampled_rows = 1024;

/// Row number i of the sample. They are spread over the matrix, but by no fixed distance, which might be one
/// between points at the edge of a grid.
__device__ inline std::int64_t sampled_row(std::int64_t rows, unsigned i) {
  return static_cast<std::int64_t>(__umul64hi(i * golden_ratio_64, static_cast<std::uint64_t>(rows)));
}

/// The length that most rows suggest, if more than half of them agree: rows with different suggestions are
/// struck out in pairs, in whatever order.
struct MajorityLength {
  std::int32_t length = 0;
  std::int32_t surplus = 0;
  friend ECHELON_ANYWHERE MajorityLength combine(MajorityLength a, MajorityLength b) {
    if (a.length == b.length) return {a.length, a.surplus + b.surplus};
    return a.surplus >= b.surplus ? MajorityLength{a.length, a.surplus - b.surplus}
                                  : MajorityLength{b.length, b.surplus - a.surplus};
  }
};

/// Of a warp's lanes, valid in the first.
__device__ inline MajorityLength majority_of_warp(MajorityLength vote) {
  for (int delta = 16; delta > 0; delta /= 2) vote = combine(vote, shuffle_down(vote, delta));
  return vote;
}

/// One block, in which each thread looks at a row.
static __global__ void __launch_bounds__(sampled_rows)
    suggest_line_length(std::int64_t rows, const std::int64_t* row_offsets,
                        const std::int32_t* column_indices, std::int32_t* line_length) {
  __shared__ MajorityLength of_warps[sampled_rows / 32];
  const std::int64_t row = sampled_row(rows, threadIdx.x);
  const Part lower = split_row(column_indices, row_offsets[row], row_offsets[row + 1], row).lower_part();
  const std::int32_t own = guess_line_length(rows, row, column_indices + lower.first, lower.count);
  const MajorityLength vote = majority_of_warp({own, 1});
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = vote;
  __syncthreads();
  const std::int32_t length =
      __shfl_sync(0xffffffffu, majority_of_warp(of_warps[threadIdx.x % 32]).length, 0);
  const int agreeing = __syncthreads_count(own == length);
  if (threadIdx.x == 0) *line_length = 2 * agreeing >= sampled_rows ? length : 0;
}

/// Queues what leaves the length of A's lines in *line_length, or 0.
template <class T>
void find_line_length(const Csr<T>& A, std::int32_t* line_length) {
  suggest_line_length<<<1, sampled_rows, 0, stream()>>>(A.rows(), A.row_offsets().data(),
                                                        A.column_indices().data(), line_length);
  check(cudaGetLastError());
}

}  // namespace echelon::gauss_seidel

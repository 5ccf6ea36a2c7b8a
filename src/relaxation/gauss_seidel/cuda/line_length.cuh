// SPDX-License-Identifier: BSD-3-Clause
/// Detection of lines on the device from about a thousand rows: the host neither waits for the result nor
/// reads it.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/warp.cuh"
#include "relaxation/gauss_seidel/cuda/line_detection.hpp"
#include "relaxation/gauss_seidel/row.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"
#include "support/hash.hpp"

#include <cstdint>

namespace echelon::gauss_seidel {

inline constexpr int sampled_rows = 1024;

/// Row i of the sample: a low-discrepancy sequence over the matrix. A constant stride could hit boundary
/// points of a grid only.
__device__ inline std::int64_t sampled_row(std::int64_t rows, unsigned i) {
  return static_cast<std::int64_t>(__umul64hi(i * golden_ratio_64, static_cast<std::uint64_t>(rows)));
}

/// Majority vote (Boyer and Moore): votes for different lengths cancel in pairs, in any order, so only a
/// length with more than half of all votes is certain to survive.
struct MajorityLength {
  std::int32_t length = 0;
  std::int32_t surplus = 0;
  friend ECHELON_ANYWHERE MajorityLength combine(MajorityLength a, MajorityLength b) {
    if (a.length == b.length) return {a.length, a.surplus + b.surplus};
    return a.surplus >= b.surplus ? MajorityLength{a.length, a.surplus - b.surplus}
                                  : MajorityLength{b.length, b.surplus - a.surplus};
  }
};

/// One block, one sampled row per thread. Writes the length that at least half of the rows suggest, by their
/// elements right of the diagonal if `from_upper` or else left of it, or 0.
static __global__ void __launch_bounds__(sampled_rows)
    detect_line_length(std::int64_t rows, const std::int64_t* row_offsets, const std::int32_t* column_indices,
                       bool from_upper, std::int32_t* line_length) {
  __shared__ MajorityLength warp_majorities[sampled_rows / warp_size];
  const std::int64_t row = sampled_row(rows, threadIdx.x);
  const RowSplit parts = split_row(column_indices, row_offsets[row], row_offsets[row + 1], row);
  const RowSide part = from_upper ? parts.upper_part() : parts.lower_part();
  const auto distance = [&](std::int64_t k) {
    const std::int64_t column = column_indices[part.first + (part.count - 1 - k) * part.step];
    return from_upper ? column - row : row - column;
  };
  const std::int32_t suggested = guess_line_length(rows, part.count, distance);
  const MajorityLength vote = warp_reduce(MajorityLength{suggested, 1}, Combine());
  if (threadIdx.x % warp_size == 0) warp_majorities[threadIdx.x / warp_size] = vote;
  __syncthreads();
  const std::int32_t length =
      __shfl_sync(full_warp, warp_reduce(warp_majorities[threadIdx.x % warp_size], Combine()).length, 0);
  const int agreeing = __syncthreads_count(suggested == length);
  if (threadIdx.x == 0) *line_length = 2 * agreeing >= sampled_rows ? length : 0;
}

/// Queues the detection, which writes the length of A's lines, or 0, to *line_length on the device.
template <class T>
void find_line_length(const Sweeps<T>& sweeps, std::int32_t* line_length) {
  const Csr<T>& A = *sweeps.A;
  const bool from_upper = sweeps.triangular && sweeps.kind == SweepKind::backward;
  detect_line_length<<<1, sampled_rows, 0, stream()>>>(A.rows(), A.row_offsets().data(),
                                                       A.column_indices().data(), from_upper, line_length);
  check(cudaGetLastError());
}

}  // namespace echelon::gauss_seidel

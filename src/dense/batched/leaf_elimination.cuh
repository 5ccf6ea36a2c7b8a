// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of the leaves of a batch: a few columns of each matrix, which stay in registers.
///
/// A thread holds `rows_per_thread` rows of a leaf. A matrix whose rows do not fit a block of threads is
/// divided among the blocks of a cluster, which send their candidates for a pivot to each other. Rows do not
/// move: each has a place, to which it is written at the end.
#pragma once

#include "backend/cuda/cluster.cuh"
#include "backend/cuda/warp.cuh"
#include "dense/batched/panel_kernels.cuh"
#include "dense/batched/thread_group.cuh"
#include "dense/panels/magnitude_bits.hpp"

#include <echelon/batched.hpp>

#include <climits>
#include <cmath>
#include <cstdint>

namespace echelon::batch_kernels {

/// Most columns that are eliminated one after the other.
inline constexpr int most_leaf_columns = 16;
inline constexpr int leaf_threads = 1024;
/// Most blocks of a cluster, as on every GPU that has clusters.
inline constexpr int most_leaf_blocks = 8;

/// A row of a leaf that may become the pivot, with its elements.
template <class T>
struct RowCandidate {
  std::uint64_t magnitude;  ///< magnitude_bits of the element in the current column
  int place;                ///< of the row; INT_MAX: there is none
  T row[most_leaf_columns];
};

/// The lane with the largest magnitude, and of equal ones that with the first place, by all lanes of a warp.
__device__ inline int lane_of_pivot(std::uint64_t magnitude, int place) {
  const unsigned upper = largest_of_warp(upper_half(magnitude));
  bool competes = upper_half(magnitude) == upper;
  const unsigned lower = largest_of_warp(competes ? lower_half(magnitude) : 0U);
  competes = competes && lower_half(magnitude) == lower;
  const unsigned distance = static_cast<unsigned>(INT_MAX - place);
  const unsigned first = largest_of_warp(competes ? distance : 0U);
  return __ffs(static_cast<int>(__ballot_sync(full_warp, competes && distance == first))) - 1;
}

/// Candidates for the pivots of two consecutive columns, so that one barrier a column is enough.
template <class T>
struct LeafMemory {
  RowCandidate<T> of_warps[2][leaf_threads / warp_size];
  RowCandidate<T> of_blocks[2][most_leaf_blocks];
};

/// Block `part` of `blocks` that eliminate columns [begin, begin + width) of a matrix.
template <class T, int rows_per_thread>
class LeafElimination {
 public:
  static constexpr int columns = most_leaf_columns / rows_per_thread;

  __device__ LeafElimination(const PanelFactors<T>& factors, std::int64_t matrix, int begin, int width,
                             int part, int blocks, LeafMemory<T>& memory)
      : a_(factors.matrix(matrix) + begin + begin * factors.leading),
        leading_(factors.leading),
        rows_(factors.n - begin),
        width_(width),
        part_(part),
        blocks_(blocks),
        memory_(memory) {}

  /// Stores the pivots as rows of the matrix; the outcome if a pivot is at most `limit`.
  __device__ BatchOutcome run(std::int32_t* pivots, int begin, double limit) {
    load();
    if constexpr (cluster::compiled) {
      if (blocks_ > 1) cluster::sync();
    }
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      if (c >= width_) break;
      const RowCandidate<T>& pivot = find_pivot(c);
      const auto size = static_cast<double>(magnitude_from<T>(pivot.magnitude));
      const T reciprocal = T{1} / pivot.row[c];
      if (!(size > limit && isfinite(size) && isfinite(reciprocal)))
        return {size <= limit ? Status::singular : Status::not_a_number, begin + c};
      if (part_ == 0 && threadIdx.x == 0) pivots[c] = begin + pivot.place;
      eliminate(c, pivot, reciprocal);
    }
    store();
    return {};
  }

 private:
  [[nodiscard]] __device__ int row(int d) const {
    return (part_ * rows_per_thread + d) * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
  }

  __device__ void load() {
#pragma unroll
    for (int d = 0; d < rows_per_thread; ++d) {
      const bool exists = row(d) < rows_;
      place_[d] = exists ? row(d) : INT_MAX;
#pragma unroll
      for (int c = 0; c < columns; ++c)
        element_[d][c] = exists && c < width_ ? a_[row(d) + c * leading_] : T{0};
    }
  }

  /// Returns the pivot of column c, the same to all threads of all blocks.
  __device__ const RowCandidate<T>& find_pivot(int c) {
    store_candidate(c, memory_.of_warps[c % 2][threadIdx.x / warp_size]);
    __syncthreads();
    const RowCandidate<T>& best = best_of(memory_.of_warps[c % 2], static_cast<int>(blockDim.x) / warp_size);
    if constexpr (cluster::compiled) {
      if (blocks_ > 1) {
        if (threadIdx.x < warp_size) send(best, c);
        cluster::sync();
        return best_of(memory_.of_blocks[c % 2], blocks_);
      }
    }
    return best;
  }

  /// Stores the best row of this warp.
  __device__ void store_candidate(int c, RowCandidate<T>& candidate) const {
    std::uint64_t magnitude = 0;
    int place = INT_MAX;
    int own = 0;
#pragma unroll
    for (int d = 0; d < rows_per_thread; ++d) {
      if (place_[d] < c || place_[d] == INT_MAX) continue;
      const std::uint64_t other = magnitude_bits(element_[d][c]);
      if (other < magnitude || (other == magnitude && place_[d] > place)) continue;
      magnitude = other;
      place = place_[d];
      own = d;
    }
    if (lane_id() != lane_of_pivot(magnitude, place)) return;
    candidate.magnitude = magnitude;
    candidate.place = place;
#pragma unroll
    for (int d = 0; d < rows_per_thread; ++d) {
      if (d != own) continue;
#pragma unroll
      for (int j = 0; j < columns; ++j) candidate.row[j] = element_[d][j];
    }
  }

  __device__ static const RowCandidate<T>& best_of(const RowCandidate<T>* candidates, int count) {
    const int lane = lane_id();
    const bool exists = lane < count;
    return candidates[lane_of_pivot(exists ? candidates[lane].magnitude : 0,
                                    exists ? candidates[lane].place : INT_MAX)];
  }

  /// Copies the candidate of this block to all blocks; by one warp.
  __device__ void send(const RowCandidate<T>& candidate, int c) {
    RowCandidate<T>* const own = &memory_.of_blocks[c % 2][part_];
    for (int block = 0; block < blocks_; ++block) {
      RowCandidate<T>* const there = cluster::in_block(own, static_cast<unsigned>(block));
      if (lane_id() < columns) {
        there->row[lane_id()] = candidate.row[lane_id()];
      } else if (lane_id() == columns) {
        there->magnitude = candidate.magnitude;
        there->place = candidate.place;
      }
    }
  }

  /// Exchanges the pivot's row with that at place c, and subtracts its multiples from the rows below.
  __device__ void eliminate(int c, const RowCandidate<T>& pivot, T reciprocal) {
#pragma unroll
    for (int d = 0; d < rows_per_thread; ++d) {
      if (place_[d] == pivot.place) {
        place_[d] = c;
      } else if (place_[d] == c) {
        place_[d] = pivot.place;
      }
      if (place_[d] <= c) continue;
      const T l = element_[d][c] * reciprocal;
      element_[d][c] = l;
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        if (j > c) element_[d][j] -= l * pivot.row[j];
      }
    }
  }

  __device__ void store() const {
#pragma unroll
    for (int d = 0; d < rows_per_thread; ++d) {
      if (place_[d] == INT_MAX) continue;
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        if (c < width_) a_[place_[d] + c * leading_] = element_[d][c];
      }
    }
  }

  T* a_;
  std::int64_t leading_;
  int rows_, width_;
  int part_, blocks_;
  LeafMemory<T>& memory_;
  T element_[rows_per_thread][columns];
  int place_[rows_per_thread];
};

/// Eliminates columns [begin, begin + width) in the rows from `begin` on. `blocks` consecutive blocks, which
/// are a cluster, have a matrix.
template <class T, int rows_per_thread>
__global__ void __launch_bounds__(leaf_threads)
    eliminate_leaves(PanelFactors<T> factors, int begin, int width, int blocks, double tolerance,
                     const double* norms) {
  __shared__ LeafMemory<T> memory;
  const std::int64_t matrix = blockIdx.x / static_cast<unsigned>(blocks);
  const int part = static_cast<int>(blockIdx.x % static_cast<unsigned>(blocks));
  if (factors.failed(matrix)) return;
  LeafElimination<T, rows_per_thread> leaf(factors, matrix, begin, width, part, blocks, memory);
  const BatchOutcome outcome =
      leaf.run(factors.pivots + matrix * factors.n + begin, begin, tolerance * norms[matrix]);
  if (part == 0 && threadIdx.x == 0 && outcome.status != Status::direct) factors.outcomes[matrix] = outcome;
}

}  // namespace echelon::batch_kernels

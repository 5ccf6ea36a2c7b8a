// SPDX-License-Identifier: BSD-3-Clause
/// Sizes and shared memory of the leaf kernel (cluster_panel.cuh).
#pragma once

#include "backend/cuda/warp.cuh"

#include <echelon/annotate.hpp>

#include <cuda_runtime.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace echelon::panel_kernels {

inline constexpr int inner_block = 16;  ///< columns of an inner block, which threads hold in registers
inline constexpr int threads = 256;     ///< of a block
inline constexpr int warps = threads / warp_size;
inline constexpr int max_blocks = 16;  ///< of a cluster
inline constexpr int max_candidates = 32;
inline constexpr int max_rows_per_thread = 4;
inline constexpr int no_row = INT_MAX;  ///< the place of rows beyond the end of the panel

/// Best pivot candidate of a warp or a block in a column.
struct alignas(16) FloatCandidate {
  float pivot;
  int row;
  std::uint32_t above;  ///< upper half of the largest magnitude_bits in rows with pivots
  std::uint32_t unused;
};
struct alignas(16) DoubleCandidate {
  double pivot;
  int row;
  std::uint32_t above;
};
template <class T>
using PivotCandidate = std::conditional_t<sizeof(T) == 8, DoubleCandidate, FloatCandidate>;

/// Unit of a message.
using Chunk = ulonglong2;

/// The candidates of `count` warps or blocks and their rows of the inner block, without the pivot, whose
/// place is taken by -1 / pivot.
template <class T, int count>
struct CandidateList {
  alignas(128) T rows[count][inner_block];
  PivotCandidate<T> pivots[count];
};

template <class T>
struct SharedPanel {
  static constexpr int chunks = inner_block * sizeof(T) / sizeof(Chunk);  ///< of a row
  CandidateList<T, max_candidates> messages[2];                           ///< of other blocks
  CandidateList<T, warps> candidates[2];    ///< of the warps; one is sent while the other is written
  std::uint64_t barriers[2];                ///< for the messages
  PivotCandidate<T> selected[inner_block];  ///< the pivot of each column of the inner block
  int pivot_rows[inner_block];              ///< row of this block that became the pivot row; negative: none
  std::uint32_t accepted;                   ///< bit c: column c of the inner block has a pivot
  int eliminated_columns;                   ///< of the inner block
  bool overflow;
};

/// Number of rows of each block: enough for m rows in all, rounded up to fill the warps of the block.
ECHELON_ANYWHERE constexpr int rows_of_block(int m, int blocks, int rows_per_thread) {
  const int unit = warp_size * rows_per_thread;
  return (m + unit * blocks - 1) / (unit * blocks) * unit;
}

/// Leading dimensions in shared memory, padded against bank conflicts.
ECHELON_ANYWHERE constexpr int padded_rows(int rows) {
  return rows + 4;
}
inline constexpr int padded_inner_block = inner_block + 4;

/// Shared memory of a block for `rows` rows of `width` columns.
template <class T>
constexpr std::size_t shared_bytes(int rows, int width) {
  const int columns = (width + inner_block - 1) / inner_block * inner_block;
  return sizeof(SharedPanel<T>) +
         sizeof(T) * (static_cast<std::size_t>(padded_rows(rows)) * columns +
                      static_cast<std::size_t>(columns) * padded_inner_block) +
         sizeof(int) * rows;
}

}  // namespace echelon::panel_kernels

// SPDX-License-Identifier: BSD-3-Clause
/// Data that the warps of a line sweep share: configuration, layout of shared memory, and the lines of a
/// block.
#pragma once

#include "relaxation/gauss_seidel/cuda/device_sweep.cuh"
#include "relaxation/gauss_seidel/cuda/line_detection.hpp"

namespace echelon::gauss_seidel {

/// Shape of a block that sweeps along lines, and of its buffers in shared memory.
///
/// Warp 0 finishes the rows of 32 lines, one line per lane. The other warps prefetch: each serves 32 /
/// lanes_per_line lines, with one lane for each of the next lanes_per_line rows of a line, and warps_per_line
/// warps alternate on each line.
struct LineKernelConfig {
  int lanes_per_line;  ///< rows of a line that a prefetching warp works on at a time
  int warps_per_line;  ///< prefetching warps of each line
  int prepared_rows;   ///< capacity for prepared rows of each line; a multiple of stride()
  int min_lead;      ///< with at most this many prepared rows left, a line is served before the warp's other
                     ///< lines are ready for it
  int row_elements;  ///< capacity of the element buffers, per row
  int waiting_elements;           ///< capacity of a prepared row for elements of its own group
  int history;                    ///< latest values that are kept of each line; even
  int load_batch;                 ///< loads of known values in flight per lane
  int far_batch;                  ///< loads of other groups' values in flight per lane
  int blocks_per_multiprocessor;  ///< resident blocks for which registers and shared memory suffice

  /// Rows between two rows of one prefetching lane.
  [[nodiscard]] ECHELON_ANYWHERE constexpr int stride() const { return lanes_per_line * warps_per_line; }
  /// Every fourth warp runs on the same scheduler as the finishing warp (warp 0). With one block per
  /// multiprocessor these warps are left idle, which makes sweeps 6 to 15 % faster.
  [[nodiscard]] ECHELON_ANYWHERE constexpr bool has_idle_warps() const {
    return blocks_per_multiprocessor == 1;
  }
  [[nodiscard]] ECHELON_ANYWHERE constexpr int warps() const {
    return 1 + stride() + (has_idle_warps() ? (stride() - 1) / 3 : 0);
  }
  [[nodiscard]] ECHELON_ANYWHERE constexpr int threads() const { return warp_size * warps(); }
  [[nodiscard]] ECHELON_ANYWHERE constexpr bool is_valid() const {
    return prepared_rows % stride() == 0 && warp_size % lanes_per_line == 0 && history % 2 == 0;
  }
};

/// One value for each line of a group.
template <class V>
using PerLine = V[warp_size];

/// Replaces a number of elements: the finishing warp computes the row from global memory, element by element.
inline constexpr int slow_row = -1;

/// Prepared rows, one of each line: everything that is known without new values of the same group.
template <class T, int window>
struct PreparedRow {
  PerLine<T> reduced_rhs;
  PerLine<T> inverse_diagonal;
  PerLine<T> weighted_old;
  PerLine<Word<T>> partial_sum;          ///< of the products with values of earlier groups, or not_ready
  PerLine<T> coefficient[window];        ///< of the elements of this group
  PerLine<std::int32_t> source[window];  ///< rows of this group, encoded as in LatestValue
  PerLine<std::int32_t> remaining;       ///< number of elements of this group, or slow_row
  PerLine<std::int32_t> count;           ///< number of elements of the waiting part; -1: the row keeps its x
  PerLine<int> prepared;                 ///< index of the row in its line, plus 1; written last
  unsigned char
      padding[32];  ///< avoids bank conflicts between the lanes of a row and between the rows of a line
};

template <class T, LineKernelConfig config>
struct PreparedRows {
  PreparedRow<T, config.waiting_elements> row[config.prepared_rows];
  int finished[warp_size];  ///< lower bound on the finished rows of each line
};

/// A new value and its source: the row's index in its line, times 32, plus the line.
template <class T>
struct alignas(2 * sizeof(T)) LatestValue {
  T value;
  std::int32_t source;
};

/// Latest values of each line, for the finishing warp.
template <class T, int kept>
struct LatestValues {
  static constexpr int span = kept * warp_size;
  LatestValue<T> entries[span];  ///< index: source % span
};

/// Elements of the rows that the prefetching warps work on.
template <class T, LineKernelConfig config>
struct ElementBuffers {
  static constexpr int vector_elements = 4;  ///< per asynchronous copy
  /// Capacity per line, which avoids bank conflicts between lines and between rows.
  static constexpr int capacity =
      (config.lanes_per_line * config.row_elements + 2 * (vector_elements - 1)) / 8 * 8 + 4;
  alignas(16) T values[config.warps_per_line * warp_size * capacity];
  alignas(16) std::int32_t columns[config.warps_per_line * warp_size * capacity];
};

template <class T, LineKernelConfig config>
struct LineStorage {
  static_assert(config.is_valid());
  PreparedRows<T, config> prepared;
  LatestValues<T, config.history> latest;
  ElementBuffers<T, config> elements;
};

template <class T, LineKernelConfig config>
__device__ LineStorage<T, config>& line_storage() {
  return *reinterpret_cast<LineStorage<T, config>*>(gauss_seidel_storage);
}

/// Acquire load and release store of a flag in shared memory, at block scope.
__device__ inline int acquire(const int& flag) {
  int value;
  asm volatile("ld.acquire.cta.shared.s32 %0, [%1];"
               : "=r"(value)
               : "l"(__cvta_generic_to_shared(&flag))
               : "memory");
  return value;
}
__device__ inline void release(int& flag, int value) {
  asm volatile("st.release.cta.shared.s32 [%0], %1;" ::"l"(__cvta_generic_to_shared(&flag)), "r"(value)
               : "memory");
}

/// The lines of a block: 32 lines of equal length for one right-hand side.
template <class T, bool forward>
struct LineGroup {
  const DeviceSweep<T>& task;
  std::int64_t nonzeros;  ///< of the matrix
  std::int32_t length;    ///< of a line, in rows
  std::int32_t first;     ///< position of the first row
  unsigned rhs;           ///< right-hand side
  float inverse_length;   ///< 1 / length

  [[nodiscard]] __device__ std::int32_t row_at(std::int32_t position) const {
    return forward ? position : static_cast<std::int32_t>(task.rows) - 1 - position;
  }
  [[nodiscard]] __device__ std::int32_t position_of(std::int32_t row) const {
    return forward ? row : static_cast<std::int32_t>(task.rows) - 1 - row;
  }
  [[nodiscard]] __device__ std::int32_t line_first(int line) const { return first + line * length; }
  /// Number of rows of a line: 0 for lines past the last row.
  [[nodiscard]] __device__ std::int32_t rows_of(int line) const {
    const std::int64_t left = task.rows - (std::int64_t{first} + std::int64_t{line} * length);
    return static_cast<std::int32_t>(max(std::int64_t{0}, min(left, std::int64_t{length})));
  }
  [[nodiscard]] __device__ Word<T>* word(std::int32_t position) const {
    return reinterpret_cast<Word<T>*>(task.x + rhs * task.leading_x + row_at(position));
  }
  /// Location of the sum left of a row's diagonal, or null if it is not stored.
  [[nodiscard]] __device__ T* lower_sum(std::int32_t row) const { return task.lower_sum(rhs, row); }
  [[nodiscard]] __device__ bool has_lower_sum(std::int32_t row) const {
    return !forward && lower_sum(row) != nullptr;
  }
  /// True if the sweep reaches the column before the row; false for a later column, which unsorted columns
  /// cause.
  [[nodiscard]] __device__ bool precedes(std::int32_t column, std::int32_t row) const {
    return position_of(column) < position_of(row);
  }
  /// Source of a value, encoded as in LatestValue, or negative if it belongs to an earlier group. `own_line`
  /// is the line of the row that reads it, a hint.
  [[nodiscard]] __device__ std::int32_t source_of(std::int32_t column, int own_line) const {
    const std::int32_t local = position_of(column) - first;
    if (local < 0) return local;
    // In grids a value belongs to the row's own line or the one before.
    std::int32_t line = local >= own_line * length ? own_line : own_line - 1;
    if (local < line * length || local >= (line + 1) * length) {
      // The quotient is off by at most one for every length; lines past the group are clamped.
      line = static_cast<std::int32_t>(min(static_cast<float>(local) * inverse_length, 31.0f));
      if (line * length > local) --line;
      if ((line + 1) * length <= local) ++line;
    }
    return (local - line * length) * warp_size + line;
  }
};

}  // namespace echelon::gauss_seidel

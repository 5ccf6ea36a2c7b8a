// SPDX-License-Identifier: BSD-3-Clause
/// What the warps of a block share that sweeps along lines: the shape of their work, their places in shared
/// memory, and which lines are theirs.
#pragma once

#include "relaxation/gauss_seidel/cuda/line_detection.hpp"
#include "relaxation/gauss_seidel/cuda/device_sweep.cuh"

namespace echelon::gauss_seidel {

/// How a block works. Warps that open rows take `ahead` of a line at a time, by as many lanes, and there are
/// `crews` of them for each line, which take turns; `depth` rows of a line are open at most. A warp begins
/// with such rows of all its lines together, unless the finishing warp has at most `reserve` rows of a line
/// left. There is shared memory for `room` elements of a row that a warp is about to open, for `window` of an
/// open one, and for the `kept` latest values of each line. Known values are asked for `batch` at a time, and
/// values of other bundles `tries`. So many blocks are to fit onto a multiprocessor.
template <int ahead_, int crews_, int depth_, int reserve_, int room_, int window_, int kept_, int batch_,
          int tries_, int blocks_>
struct LineShape {
  static constexpr int ahead = ahead_;
  static constexpr int crews = crews_;
  static constexpr int stride = ahead * crews;
  static constexpr int depth = depth_;
  static constexpr int reserve = reserve_;
  static constexpr int room = room_;
  static constexpr int window = window_;
  static constexpr int kept = kept_;
  static constexpr int batch = batch_;
  static constexpr int tries = tries_;
  static constexpr int blocks = blocks_;
  /// Warps take turns in fours: the others of the finishing warp's four are left idle where that costs
  /// nothing.
  static constexpr bool apart = blocks == 1;
  static constexpr int warps = 1 + stride + (apart ? (stride - 1) / 3 : 0);
  static constexpr int threads = warp_lanes * warps;
  static_assert(depth % stride == 0 && warp_lanes % ahead == 0 && kept % 2 == 0);
};

/// One for each line.
template <class V>
using OfLines = V[warp_lanes];

/// Instead of a number of elements: the row is not like those of a grid.
inline constexpr int finished_slowly = -1;

/// What is known of a row of each line before any waiting for the bundle's values.
template <class T, int window>
struct OpenedRow {
  OfLines<T> rest;
  OfLines<T> scale;
  OfLines<T> kept;
  OfLines<Word<T>> sum;                  ///< of the elements taken, or unpublished
  OfLines<T> coefficient[window];        ///< of the elements to take
  OfLines<std::int32_t> source[window];  ///< a row of the bundle, as in LatestValue
  OfLines<std::int32_t> left;            ///< elements to take, or finished_slowly
  OfLines<std::int32_t> count;           ///< elements in all; -1: the row keeps its value
  OfLines<int> opened;                   ///< the row's number in the line, plus 1
  unsigned char padding[32];             ///< neither a row's lanes nor a line's rows meet in a bank
};

template <class T, class Shape>
struct OpenedRows {
  OpenedRow<T, Shape::window> row[Shape::depth];
  int closed[warp_lanes];  ///< at least so many rows of the line are done
};

/// A new value, and whose it is: the row's number in its line, times 32, and the line.
template <class T>
struct alignas(2 * sizeof(T)) LatestValue {
  T value;
  std::int32_t source;
};

/// The latest values of each line, for the warp that finishes rows.
template <class T, int kept>
struct LatestValues {
  static constexpr int span = kept * warp_lanes;
  LatestValue<T> of[span];  ///< at source % span
};

/// Elements of the rows that the openers are at.
template <class T, class Shape>
struct BroughtElements {
  static constexpr int chunk = 4;  ///< that are brought together
  /// A line's: neither lines nor rows meet in a bank.
  static constexpr int room = (Shape::ahead * Shape::room + 2 * (chunk - 1)) / 8 * 8 + 4;
  alignas(16) T values[Shape::crews * warp_lanes * room];
  alignas(16) std::int32_t columns[Shape::crews * warp_lanes * room];
};

template <class T, class Shape>
struct LineStorage {
  OpenedRows<T, Shape> opened;
  LatestValues<T, Shape::kept> latest;
  BroughtElements<T, Shape> brought;
};

template <class T, class Shape>
__device__ LineStorage<T, Shape>& line_storage() {
  return *reinterpret_cast<LineStorage<T, Shape>*>(gauss_seidel_storage);
}

/// Between warps of a block, in shared memory.
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

/// The lines of a block.
template <class T, bool forward>
struct Bundle {
  const DeviceSweep<T>& task;
  std::int64_t nonzeros;  ///< of the matrix
  std::int32_t length;    ///< of a line
  std::int32_t first;     ///< position of the bundle
  unsigned side;          ///< the right-hand side
  float per_row;          ///< 1 / length

  [[nodiscard]] __device__ std::int32_t row_at(std::int32_t position) const {
    return forward ? position : static_cast<std::int32_t>(task.rows) - 1 - position;
  }
  [[nodiscard]] __device__ std::int32_t position_of(std::int32_t row) const {
    return forward ? row : static_cast<std::int32_t>(task.rows) - 1 - row;
  }
  [[nodiscard]] __device__ std::int32_t line_first(int line) const { return first + line * length; }
  /// Rows of a line: none, if it would begin behind the last row.
  [[nodiscard]] __device__ std::int32_t rows_of(int line) const {
    const std::int64_t left = task.rows - (std::int64_t{first} + std::int64_t{line} * length);
    return static_cast<std::int32_t>(max(std::int64_t{0}, min(left, std::int64_t{length})));
  }
  [[nodiscard]] __device__ Word<T>* word(std::int32_t position) const {
    return reinterpret_cast<Word<T>*>(task.x + side * task.leading_x + row_at(position));
  }
  /// Null unless it is kept.
  [[nodiscard]] __device__ T* lower_sum(std::int32_t row) const { return task.lower_sum(side, row); }
  [[nodiscard]] __device__ bool knows_lower(std::int32_t row) const {
    return !forward && lower_sum(row) != nullptr;
  }
  /// Whether a column's value comes before the row's, as it does unless columns are unsorted.
  [[nodiscard]] __device__ bool can_wait_for(std::int32_t column, std::int32_t row) const {
    return position_of(column) < position_of(row);
  }
  /// Where a value comes from, for a row of line `near`: as in LatestValue, or, negative, another bundle.
  [[nodiscard]] __device__ std::int32_t source_of(std::int32_t column, int near) const {
    const std::int32_t local = position_of(column) - first;
    if (local < 0) return local;
    // In grids, from the row's own line or the one before.
    std::int32_t line = local >= near * length ? near : near - 1;
    if (local < line * length || local >= (line + 1) * length) {
      // The quotient is at most one off, however long lines are; behind the bundle it does not matter.
      line = static_cast<std::int32_t>(min(static_cast<float>(local) * per_row, 31.0f));
      if (line * length > local) --line;
      if ((line + 1) * length <= local) ++line;
    }
    return (local - line * length) * warp_lanes + line;
  }
};

}  // namespace echelon::gauss_seidel

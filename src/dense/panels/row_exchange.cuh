// SPDX-License-Identifier: BSD-3-Clause
/// What a panel asks of other columns on a GPU: exchanges of rows, all at the same time, and a product.
#pragma once

#include "dense/panels/workspace.cuh"
#include "dense/panels/blocked_elimination.hpp"

#include <cstdint>

namespace echelon {

/// The columns [begin, end) of A but for those of [hole, after).
template <class T>
struct ColumnsAround {
  DenseView<T> A;
  std::int64_t begin, hole, after, end;

  [[nodiscard]] ECHELON_ANYWHERE std::int64_t count() const { return hole - begin + end - after; }
  [[nodiscard]] ECHELON_ANYWHERE T* column(std::int64_t c) const {
    return A.data() + (c < hole - begin ? begin + c : after + c - (hole - begin)) * A.leading();
  }
  [[nodiscard]] DenseView<T> left() const { return column_range(A, begin, hole); }
  [[nodiscard]] DenseView<T> right() const { return column_range(A, after, end); }
};

/// Where pivot rows go: the rank before and after the panel, on the host or on the GPU, and the row of W for
/// each pivot.
struct PivotRows {
  PivotRange range;                 ///< unless the ranks are on the GPU
  const std::int64_t* rank_before;  ///< null: `range` counts
  const std::int64_t* rank_after;
  const std::int64_t* rows;
  const std::int64_t* columns;  ///< null: pivot k is row k - first of W; otherwise columns[k] - begin
  std::int64_t begin;
  int width;  ///< the height of W

  [[nodiscard]] __device__ PivotRange known() const {
    return rank_before == nullptr ? range : PivotRange{*rank_before, *rank_after};
  }
};

/// Exchanges of rows k and rows[k] for k = first, ..., first + count - 1. `rows`: those, in shared memory.
struct RowExchanges {
  std::int64_t first;
  int count;
  const std::int64_t* rows;

  /// The row where what is in row i comes to be; every row can ask for itself.
  [[nodiscard]] __device__ std::int64_t place_after(std::int64_t i) const {
    for (int p = 0; p < count; ++p) i = exchanged(i, p);
    return i;
  }
  /// The same for k = last - 1, ..., first.
  [[nodiscard]] __device__ std::int64_t place_before(std::int64_t i) const {
    for (int p = count; p-- > 0;) i = exchanged(i, p);
    return i;
  }
  /// The t-th of the 2 count rows that are touched, or -1 where it is told twice.
  [[nodiscard]] __device__ std::int64_t touched(int t) const {
    if (t < count) return first + t;
    if (t >= 2 * count) return -1;
    const std::int64_t row = rows[t - count];
    return row < first + count ? -1 : row;
  }

 private:
  [[nodiscard]] __device__ std::int64_t exchanged(std::int64_t i, int p) const {
    const std::int64_t k = first + p;
    return i == rows[p] ? k : (i == k ? rows[p] : i);
  }
};

/// Moves the pivot rows of X to W (pivots.width by X.count(), side by side), and puts zeros in their place.
template <class T>
void take_rows(const Lane& lane, const ColumnsAround<T>& X, const PivotRows& pivots, T* W);

/// Applies a panel with columns G to X: rows are exchanged, then X = X + G W. 2 X.A.rows() pivots.width
/// X.count() flops. `W`: pivots.width X.count() elements of scratch memory.
template <class T>
void apply_panel(const Lane& lane, DenseView<const T> G, const PivotRows& pivots, const ColumnsAround<T>& X,
                 T* W);

}  // namespace echelon

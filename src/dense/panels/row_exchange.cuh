// SPDX-License-Identifier: BSD-3-Clause
/// Application of a panel to other columns on a GPU: all row exchanges at once (laswp), then a product
/// (gemm).
#pragma once

#include "dense/panels/apply_panel.hpp"
#include "dense/panels/workspace.cuh"

#include <cstdint>

namespace echelon {

/// Columns [begin, end) of A except [excluded_begin, excluded_end).
template <class T>
struct ColumnsExcept {
  DenseView<T> A;
  std::int64_t begin, excluded_begin, excluded_end, end;

  [[nodiscard]] ECHELON_ANYWHERE std::int64_t count() const {
    return excluded_begin - begin + end - excluded_end;
  }
  [[nodiscard]] ECHELON_ANYWHERE T* column(std::int64_t c) const {
    return A.data() + (c < excluded_begin - begin ? begin + c : excluded_end + c - (excluded_begin - begin)) *
                          A.leading();
  }
  [[nodiscard]] DenseView<T> left() const { return column_range(A, begin, excluded_begin); }
  [[nodiscard]] DenseView<T> right() const { return column_range(A, excluded_end, end); }
};

template <class T>
ColumnsExcept<T> columns_of(DenseView<T> A, std::int64_t begin, std::int64_t end) {
  return {A, begin, end, end, end};
}

/// The pivots of a panel: their range, known to the host or only to the GPU, their row exchanges, and their
/// rows in W.
struct PivotRows {
  PivotRange range = {};                      ///< unless the ranks are on the GPU
  const std::int64_t* rank_before = nullptr;  ///< null: `range` is valid
  const std::int64_t* rank_after = nullptr;
  const std::int64_t* rows;
  const std::int64_t* columns =
      nullptr;  ///< null: pivot k is row k - first of W; otherwise columns[k] - begin
  std::int64_t begin = 0;
  int width;  ///< rows of W

  [[nodiscard]] __device__ PivotRange known() const {
    return rank_before == nullptr ? range : PivotRange{*rank_before, *rank_after};
  }
};

/// Exchanges of rows k and rows[k] for k = first, ..., first + count - 1. `rows`: in shared memory.
struct RowExchanges {
  std::int64_t first;
  int count;
  const std::int64_t* rows;

  /// The row to which the exchanges move row i; computed for each row on its own.
  [[nodiscard]] __device__ std::int64_t destination(std::int64_t i) const {
    for (int p = 0; p < count; ++p) i = exchanged(i, p);
    return i;
  }
  /// The row to which the exchanges move row i when they are undone, from the last to the first.
  [[nodiscard]] __device__ std::int64_t inverse_destination(std::int64_t i) const {
    for (int p = count; p-- > 0;) i = exchanged(i, p);
    return i;
  }
  /// The t-th of the 2 count rows that the exchanges name, or -1 if the row was listed already.
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

/// Moves the pivot rows of X to W (pivots.width by X.count(), contiguous), and sets them to zero in X.
template <class T>
void take_rows(const StreamContext& context, const ColumnsExcept<T>& X, const PivotRows& pivots, T* W);

/// Applies a panel with columns G to X: exchanges rows, then X = X + G W. 2 X.A.rows() pivots.width X.count()
/// flops. `W`: workspace of pivots.width X.count() elements.
template <class T>
void apply_panel(const StreamContext& context, DenseView<const T> G, const PivotRows& pivots,
                 const ColumnsExcept<T>& X, T* W);

/// Products of a panel with few columns, by the blocks of a cluster that share the rows.
namespace column_tiles {

inline constexpr int tile = 8;  ///< columns of X for each block

inline unsigned tiles(std::int64_t columns) {
  return static_cast<unsigned>((columns + tile - 1) / tile);
}

template <class T>
struct alignas(16) TileRow {
  T at[tile];
};

/// The rows of a block and the columns of its cluster.
template <class T>
struct ColumnTile {
  const ColumnsExcept<T>& X;
  std::int64_t first_row, last_row, first_column;
  int columns;
  [[nodiscard]] __device__ bool has_row(std::int64_t i) const { return i >= first_row && i < last_row; }
  [[nodiscard]] __device__ T* column(int c) const { return X.column(first_column + c); }
  /// Issues all loads before the first value is used.
  [[nodiscard]] __device__ TileRow<T> row(std::int64_t i) const {
    TileRow<T> result;
#pragma unroll
    for (int c = 0; c < tile; ++c) result.at[c] = c < columns ? column(c)[i] : T{0};
    return result;
  }
  __device__ void put(std::int64_t i, const TileRow<T>& values) const {
#pragma unroll
    for (int c = 0; c < tile; ++c) {
      if (c < columns) column(c)[i] = values.at[c];
    }
  }
};

/// Elements of G in the rows of a thread, in a fixed number of columns.
template <class T, int rows_per_thread>
struct PanelFragment {
  static constexpr int columns = 16;
  T at[columns][rows_per_thread];

  /// Loads columns [first, first + columns); zeros from `width` on.
  __device__ void load(const T* __restrict__ G, std::int64_t leading, int first, int width,
                       const std::int64_t* rows) {
#pragma unroll
    for (int k = 0; k < columns; ++k) {
#pragma unroll
      for (int r = 0; r < rows_per_thread; ++r)
        at[k][r] = first + k < width ? G[(first + k) * leading + rows[r]] : T{0};
    }
  }
};

/// Computes X = X + G W, rows_per_thread rows of each thread at a time. The next factors are loaded while
/// these are used.
template <int rows_per_thread, class T>
__device__ void multiply_tile(const ColumnTile<T>& own, const T* __restrict__ G, std::int64_t leading,
                              int width, const TileRow<T>* W) {
  constexpr int batch = PanelFragment<T, rows_per_thread>::columns;
  const int threads = static_cast<int>(blockDim.x);
  for (std::int64_t i = own.first_row + threadIdx.x; i < own.last_row; i += rows_per_thread * threads) {
    std::int64_t rows[rows_per_thread];
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) rows[r] = min(i + r * threads, own.last_row - 1);
    PanelFragment<T, rows_per_thread> g;
    PanelFragment<T, rows_per_thread> next;
    g.load(G, leading, 0, width, rows);
    TileRow<T> x[rows_per_thread];
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) x[r] = own.row(rows[r]);
    for (int first = 0; first < width; first += batch) {
      next.load(G, leading, first + batch, width, rows);
#pragma unroll
      for (int k = 0; k < batch; ++k) {
        if (first + k >= width) break;
#pragma unroll
        for (int c = 0; c < tile; ++c) {
#pragma unroll
          for (int r = 0; r < rows_per_thread; ++r) x[r].at[c] += g.at[k][r] * W[first + k].at[c];
        }
      }
      g = next;
    }
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
      if (i + r * threads < own.last_row) own.put(i + r * threads, x[r]);
    }
  }
}

}  // namespace column_tiles

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Application of a panel to other columns on a GPU: all row exchanges at once, then a product.
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

}  // namespace echelon

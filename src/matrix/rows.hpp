// SPDX-License-Identifier: BSD-3-Clause
/// Uniform access to the rows of dense and sparse matrices: the stored elements of row i are at the positions
/// k in [begin(i), end(i)), in ascending columns.
#pragma once

#include "backend/lower_bound.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>

namespace echelon {

template <class T>
struct DenseRows {
  using Value = T;
  const T* data;
  std::int64_t columns;
  std::int64_t row_step;
  std::int64_t column_step;

  explicit DenseRows(const DenseView<const T>& a)
      : data(a.data()),
        columns(a.columns()),
        row_step(a.layout() == Layout::column_major ? 1 : a.leading()),
        column_step(a.layout() == Layout::column_major ? a.leading() : 1) {}

  ECHELON_ANYWHERE std::int64_t begin(std::int64_t) const { return 0; }
  ECHELON_ANYWHERE std::int64_t end(std::int64_t) const { return columns; }
  ECHELON_ANYWHERE std::int64_t column(std::int64_t k) const { return k; }
  ECHELON_ANYWHERE T value(std::int64_t i, std::int64_t k) const { return at(i, k); }
  /// Element (i, j), zero where none is stored.
  ECHELON_ANYWHERE T at(std::int64_t i, std::int64_t j) const { return data[i * row_step + j * column_step]; }
};

template <class T>
struct SparseRows {
  using Value = T;
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  const T* values;

  explicit SparseRows(const Csr<T>& a)
      : row_offsets(a.row_offsets().data()),
        column_indices(a.column_indices().data()),
        values(a.values().data()) {}

  ECHELON_ANYWHERE std::int64_t begin(std::int64_t i) const { return row_offsets[i]; }
  ECHELON_ANYWHERE std::int64_t end(std::int64_t i) const { return row_offsets[i + 1]; }
  ECHELON_ANYWHERE std::int64_t column(std::int64_t k) const { return column_indices[k]; }
  ECHELON_ANYWHERE T value(std::int64_t, std::int64_t k) const { return values[k]; }
  /// Element (i, j), zero where none is stored; O(log(row length)).
  ECHELON_ANYWHERE T at(std::int64_t i, std::int64_t j) const {
    std::int64_t k = place_in_run(begin(i), end(i), j);
    if (k < 0) k = lower_bound(column_indices, begin(i), end(i), j);
    return k < end(i) && column_indices[k] == j ? values[k] : T{0};
  }

 private:
  /// Place of column j among those of a long row, if all from the first or up to the last follow each other,
  /// as in the dense rows and columns of a matrix; otherwise -1.
  ECHELON_ANYWHERE std::int64_t place_in_run(std::int64_t begin, std::int64_t end, std::int64_t j) const {
    constexpr std::int64_t long_row = 32;
    if (end - begin < long_row) return -1;
    const std::int64_t from_first = begin + (j - column_indices[begin]);
    if (from_first >= begin && from_first < end && column_indices[from_first] == j) return from_first;
    const std::int64_t from_last = end - 1 - (column_indices[end - 1] - j);
    return from_last >= begin && from_last < end && column_indices[from_last] == j ? from_last : -1;
  }
};

/// Computes row_indices[k] = i for the elements k of row i.
struct RepeatRow {
  const std::int64_t* row_offsets;
  std::int32_t* row_indices;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    for (std::int64_t k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
      row_indices[k] = static_cast<std::int32_t>(i);
    }
  }
};

/// Calls f with the matrix as SparseRows or DenseRows.
template <class T, class F>
auto with_rows(const MatrixRef<T>& a, F&& f) {
  return a.is_sparse() ? f(SparseRows<T>(*a.csr())) : f(DenseRows<T>(a.dense()));
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// The steps of panel.hpp in the loops of any backend: for panels of any height on a GPU, where they are too
/// tall for one cluster of thread blocks, and for backends without native steps. A panel is eliminated one
/// column after the other, with three passes over the panel for each column.
#pragma once

#include "backend/backend.hpp"
#include "dense/panels/panel.hpp"
#include "dense/panels/pivot.hpp"
#include "dense/panels/scan.hpp"
#include "support/scalar.hpp"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace echelon {

namespace panel_loops {

/// The largest magnitude of a column in the rows without pivots, the upper of two equal ones, and in the rows
/// with pivots. NaN counts as larger than any number.
struct ColumnMaxima {
  double pivot = -1;
  double above = -1;
  std::int64_t row = -1;

  static ECHELON_ANYWHERE bool beats(double a, double b) { return a > b || a != a; }
  friend ECHELON_ANYWHERE ColumnMaxima combine(ColumnMaxima a, ColumnMaxima b) {
    const bool first = beats(a.pivot, b.pivot) || (a.pivot == b.pivot && a.row < b.row);
    return {first ? a.pivot : b.pivot, beats(a.above, b.above) ? a.above : b.above, first ? a.row : b.row};
  }
};

template <class T>
struct FindMaxima {
  const T* column;
  const EliminationState* state;
  ECHELON_ANYWHERE ColumnMaxima operator()(std::int64_t i) const {
    const double size = magnitude(column[i]);
    return i < state->rank ? ColumnMaxima{-1, size, -1} : ColumnMaxima{size, -1, i};
  }
};

/// Decision about a column.
template <class T>
struct ColumnStep {
  enum Kind : std::int32_t { skip, reject, accept } kind;
  std::int64_t k;    ///< rank before the column
  std::int64_t row;  ///< of the pivot
  T pivot;
};

template <class T>
struct SelectPivot {
  DenseView<T> A;
  std::int64_t j;
  EliminationState* state;
  PivotList<T> pivots;
  ColumnStep<T>* step;
  ECHELON_ANYWHERE void operator()(ColumnMaxima found) const {
    const std::int64_t k = state->rank;
    step->kind = ColumnStep<T>::skip;
    step->k = k;
    if (state->overflow_column >= 0 || k >= A.rows()) return;
    const PivotAssessment assessment = assess_pivot(found.pivot, found.above, state->tolerance);
    record(assessment, j, *state);
    if (assessment.status == PivotStatus::rejected) step->kind = ColumnStep<T>::reject;
    if (assessment.status != PivotStatus::accepted) return;
    step->kind = ColumnStep<T>::accept;
    step->row = found.row;
    step->pivot = A.data()[j * A.leading() + found.row];
    pivots.rows[k] = found.row;
    pivots.columns[k] = j;
    pivots.values[k] = step->pivot;
    state->rank = k + 1;
  }
};

/// Exchanges row k and the pivot row in columns [begin, end), and copies the pivot row and column j.
template <class T>
struct ExchangePivotRow {
  DenseView<T> A;
  std::int64_t begin, end, j;
  const ColumnStep<T>* step;
  T* pivot_row;
  T* column;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    if (step->kind != ColumnStep<T>::accept) return;
    const std::int64_t k = step->k;
    const std::int64_t row = step->row;
    if (e < end - begin) {
      T* at = A.data() + (begin + e) * A.leading();
      const T upper = at[k];
      const T lower = at[row];
      at[row] = upper;
      at[k] = pivot_row[e] = lower;
      if (begin + e == j) {
        column[row] = upper;
        column[k] = lower;
      }
    }
    if (e < A.rows() && e != k && e != row) column[e] = A.data()[j * A.leading() + e];
  }
};

template <class T>
struct EliminateColumn {
  DenseView<T> A;
  std::int64_t begin, j;
  const ColumnStep<T>* step;
  const T* pivot_row;
  const T* column;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % A.rows();
    const std::int64_t c = begin + e / A.rows();
    T& element = A.data()[c * A.leading() + i];
    if (step->kind == ColumnStep<T>::reject && c == j && i >= step->k) element = T{0};
    if (step->kind != ColumnStep<T>::accept) return;
    const bool is_pivot = i == step->k;
    const T g = (is_pivot ? T{1} : -column[i]) / step->pivot;
    element = c == j ? g : (is_pivot ? T{0} : element) + g * pivot_row[c - begin];
  }
};

}  // namespace panel_loops

/// factor_panel for narrow panels. Queues three kernels for each column.
template <class B, class T>
void factor_by_columns(B& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                       EliminationState* state, const PivotList<T>& pivots, PanelWorkspace<T>& workspace) {
  using namespace panel_loops;
  if (A.rows() == 0) return;
  Array<ColumnStep<T>> step(A.device(), 1);
  T* pivot_row = workspace.rows.data();
  T* column = workspace.columns.data();
  for (std::int64_t j = begin; j < end; ++j) {
    backend.reduce(A.rows(), FindMaxima<T>{A.column(j), state},
                   SelectPivot<T>{A, j, state, pivots, step.data()});
    backend.for_each(std::max(A.rows(), end - begin),
                     ExchangePivotRow<T>{A, begin, end, j, step.data(), pivot_row, column});
    backend.for_each(A.rows() * (end - begin),
                     EliminateColumn<T>{A, begin, j, step.data(), pivot_row, column});
  }
}

namespace panel_loops {

/// A MatrixScan of some rows.
struct RowScan {
  MatrixScan found;
  friend ECHELON_ANYWHERE RowScan combine(RowScan a, RowScan b) {
    RowScan both;
    both.found.largest = b.found.largest > a.found.largest ? b.found.largest : a.found.largest;
    both.found.norm_inf = b.found.norm_inf > a.found.norm_inf ? b.found.norm_inf : a.found.norm_inf;
    const bool first_is_a = a.found.row >= 0 && (b.found.row < 0 || a.found.row < b.found.row);
    both.found.row = first_is_a ? a.found.row : b.found.row;
    both.found.column = first_is_a ? a.found.column : b.found.column;
    return both;
  }
};

template <class T>
struct ScanRow {
  DenseView<const T> A;
  double* row_sums;
  ECHELON_ANYWHERE RowScan operator()(std::int64_t i) const {
    RowScan row;
    double sum = 0;
    for (std::int64_t j = 0; j < A.columns(); ++j) {
      const double size = magnitude(A.data()[j * A.leading() + i]);
      sum += size;
      if (size > row.found.largest) row.found.largest = size;
      if (row.found.row < 0 && size - size != 0) {
        row.found.row = i;
        row.found.column = j;
      }
    }
    row_sums[i] = sum;
    if (sum > 0) row.found.norm_inf = sum;
    return row;
  }
};
struct KeepScan {
  MatrixScan* target;
  ECHELON_ANYWHERE void operator()(RowScan all) const { *target = all.found; }
};

template <class T>
ECHELON_ANYWHERE void exchange(T& a, T& b) {
  const T kept = a;
  a = b;
  b = kept;
}

/// Exchanges the rows of column j, moves the pivot rows to W, and sets them to zero.
template <class T>
struct TakePivotRows {
  DenseView<T> X;
  PivotRange range;
  const std::int64_t* rows;
  T* W;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    T* const column = X.data() + j * X.leading();
    for (std::int64_t k = range.first; k < range.last; ++k) exchange(column[k], column[rows[k]]);
    for (std::int64_t k = range.first; k < range.last; ++k) {
      W[j * range.count() + k - range.first] = column[k];
      column[k] = T{0};
    }
  }
};

/// One call does all: each exchange depends on those before.
template <class T>
struct PutBackPivotRows {
  PivotRange range;
  const std::int64_t* rows;
  const T* products;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t) const {
    for (std::int64_t k = range.first; k < range.last; ++k) x[k] = products[k - range.first];
    for (std::int64_t k = range.last; k-- > range.first;) exchange(x[k], x[rows[k]]);
  }
};

/// Exchanges the elements of row i.
template <class T>
struct PutBackColumns {
  DenseView<T> A;
  const std::int64_t* rows;
  const EliminationState* state;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if (state->rank < A.columns()) return;
    for (std::int64_t k = A.columns(); k-- > 0;)
      exchange(A.data()[k * A.leading() + i], A.data()[rows[k] * A.leading() + i]);
  }
};

}  // namespace panel_loops

/// scan() for any backend.
template <class B, class T>
// NOLINTNEXTLINE(readability-non-const-parameter): the loop writes row_sums
void scan_by_rows(B& backend, DenseView<const T> A, double* row_sums, MatrixScan* result) {
  backend.reduce(A.rows(), panel_loops::ScanRow<T>{A, row_sums}, panel_loops::KeepScan{result});
}

/// take_pivot_rows() for any backend.
template <class B, class T>
void take_pivot_rows_by_columns(B& backend, DenseView<T> X, PivotRange range, const std::int64_t* rows,
                                T* W) {
  backend.for_each(X.columns(), panel_loops::TakePivotRows<T>{X, range, rows, W});
}

/// put_back_pivot_rows() for any backend.
template <class B, class T>
void put_back_pivot_rows_in_order(B& backend, PivotRange range, const std::int64_t* rows, const T* products,
                                  T* x) {
  backend.for_each(1, panel_loops::PutBackPivotRows<T>{range, rows, products, x});
}

/// put_back_columns() for any backend.
template <class B, class T>
void put_back_columns_by_rows(B& backend, DenseView<T> A, const std::int64_t* rows,
                              const EliminationState* state) {
  backend.for_each(A.rows(), panel_loops::PutBackColumns<T>{A, rows, state});
}

}  // namespace echelon

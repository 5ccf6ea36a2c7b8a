// SPDX-License-Identifier: BSD-3-Clause
/// Elimination of a panel one column after the other, with three passes over the panel for each column: for
/// panels of any height on a GPU, where they are too tall for one cluster of thread blocks.
#pragma once

#include "backend/backend.hpp"
#include "dense/panels/panel.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace echelon {

namespace panel_by_columns_detail {

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
    const double magnitude = std::fabs(static_cast<double>(column[i]));
    return i < state->rank ? ColumnMaxima{-1, magnitude, -1} : ColumnMaxima{magnitude, -1, i};
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

}  // namespace panel_by_columns_detail

/// factor_panel for narrow panels. Queues three kernels for each column.
template <class B, class T>
void factor_by_columns(B& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                       EliminationState* state, const PivotList<T>& pivots, PanelWorkspace<T>& workspace) {
  using namespace panel_by_columns_detail;
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

}  // namespace echelon

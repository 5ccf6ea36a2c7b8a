// SPDX-License-Identifier: BSD-3-Clause
/// A panel of Gauss-Jordan elimination, one column after the other: three passes over it for each column,
/// whatever its size. What a GPU does with panels that are too tall for one cluster of thread blocks.
#pragma once

#include "backend/backend.hpp"
#include "dense/panels/panel.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace echelon {

namespace panel_by_columns_detail {

/// The largest magnitude in a column among the rows without pivots, the upper of two equals; and among those
/// with pivots. NaN beats everything.
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

/// What is to be done with a column.
template <class T>
struct Step {
  enum Kind : std::int32_t { nothing, reject, accept } kind;
  std::int64_t k;    ///< the rank before it
  std::int64_t row;  ///< of the pivot
  T pivot;
};

template <class T>
struct Decide {
  DenseView<T> A;
  std::int64_t j;
  EliminationState* state;
  PivotList<T> pivots;
  Step<T>* step;
  ECHELON_ANYWHERE void operator()(ColumnMaxima found) const {
    const std::int64_t k = state->rank;
    step->kind = Step<T>::nothing;
    step->k = k;
    if (state->overflow_column >= 0 || k >= A.rows()) return;
    const PivotJudgement judgement = judge_pivot(found.pivot, found.above, state->tolerance);
    record(judgement, j, *state);
    if (judgement.verdict == PivotVerdict::rejected) step->kind = Step<T>::reject;
    if (judgement.verdict != PivotVerdict::accepted) return;
    step->kind = Step<T>::accept;
    step->row = found.row;
    step->pivot = A.data()[j * A.leading() + found.row];
    pivots.rows[k] = found.row;
    pivots.columns[k] = j;
    pivots.values[k] = step->pivot;
    state->rank = k + 1;
  }
};

/// Exchanges rows k and the pivot's in columns [begin, end); keeps the pivot row and column j as they are
/// then.
template <class T>
struct Exchange {
  DenseView<T> A;
  std::int64_t begin, end, j;
  const Step<T>* step;
  T* pivot_row;
  T* column;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    if (step->kind != Step<T>::accept) return;
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
struct Eliminate {
  DenseView<T> A;
  std::int64_t begin, j;
  const Step<T>* step;
  const T* pivot_row;
  const T* column;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % A.rows();
    const std::int64_t c = begin + e / A.rows();
    T& element = A.data()[c * A.leading() + i];
    if (step->kind == Step<T>::reject && c == j && i >= step->k) element = T{0};
    if (step->kind != Step<T>::accept) return;
    const bool is_pivot = i == step->k;
    const T g = (is_pivot ? T{1} : -column[i]) / step->pivot;
    element = c == j ? g : (is_pivot ? T{0} : element) + g * pivot_row[c - begin];
  }
};

}  // namespace panel_by_columns_detail

/// As `factor_panel`, for few columns. Queues 3 kernels a column.
template <class B, class T>
void factor_by_columns(B& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                       EliminationState* state, const PivotList<T>& pivots, PanelScratch<T>& scratch) {
  using namespace panel_by_columns_detail;
  if (A.rows() == 0) return;
  Array<Step<T>> step(A.device(), 1);
  T* pivot_row = scratch.rows.data();
  T* column = scratch.columns.data();
  for (std::int64_t j = begin; j < end; ++j) {
    backend.reduce(A.rows(), FindMaxima<T>{A.column(j), state}, Decide<T>{A, j, state, pivots, step.data()});
    backend.for_each(std::max(A.rows(), end - begin),
                     Exchange<T>{A, begin, end, j, step.data(), pivot_row, column});
    backend.for_each(A.rows() * (end - begin), Eliminate<T>{A, begin, j, step.data(), pivot_row, column});
  }
}

}  // namespace echelon

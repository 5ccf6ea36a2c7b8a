// SPDX-License-Identifier: BSD-3-Clause
/// Loop bodies for right-hand sides.
#pragma once

#include "backend/backend.hpp"
#include "sparse_direct/mapped_echelon/reduction.hpp"

#include <cmath>
#include <cstdint>

namespace echelon::mapped {

/// reduced = b.
template <class Field, class T>
struct LoadRightHandSide {
  Field field;
  const T* b;
  typename Field::Element* reduced;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { reduced[i] = field.element(b[i]); }
};

/// A recorded reduction, applied to a right-hand side.
template <class Field>
struct Replay {
  Field field;
  RecordView<const std::int32_t, const typename Field::Value> record;
  typename Field::Element* reduced;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    const typename Field::Element b = reduced[record.pivot[k]];
    reduced[record.row[k]] = field.reduced(reduced[record.row[k]], record.multiplier[k], b.value);
  }
};

/// x from the field to real numbers.
template <class Field, class T>
struct StoreSolution {
  Field field;
  const typename Field::Value* solution;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] = static_cast<T>(field.number(solution[i])); }
};

/// reduced = b - A x, summed in the order of the row's elements, and its largest magnitude.
template <class Field, class T>
struct Residual {
  Field field;
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  const T* b;
  const typename Field::Value* x;
  typename Field::Element* reduced;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i) const {
    typename Field::Element r = field.element(b[i]);
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      r = field.reduced(r, field.element(values[k]).value, x[columns[k]]);
    }
    const double magnitude = std::fabs(static_cast<double>(field.number(r.value)));
    reduced[i] = r;
    if constexpr (!Field::is_exact) reduced[i] = field.element(r.value);
    return {magnitude};
  }
};

/// sum = x + y.
template <class T>
struct Add {
  const T* x;
  const T* y;
  T* sum;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { sum[i] = x[i] + y[i]; }
};

template <class T>
struct Magnitude {
  const T* x;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i) const { return {std::fabs(static_cast<double>(x[i]))}; }
};

/// The row with the largest error, the first of several.
struct WorstRow {
  double error = -1;
  std::int64_t row = -1;
  friend ECHELON_ANYWHERE WorstRow combine(WorstRow a, WorstRow b) {
    return a.error > b.error || (a.error == b.error && a.row <= b.row) ? a : b;
  }
};

/// The right-hand side that is left in a dependent row, relative to the sum of its terms and to the terms of
/// the row that cancelled: zero but for rounding, unless the row contradicts others.
template <class Field>
struct Contradiction {
  Field field;
  const std::int32_t* dependent;
  const Rejected* rejected;
  const typename Field::Element* reduced;
  const Largest* x_norm;
  ECHELON_ANYWHERE WorstRow operator()(std::int64_t i) const {
    const std::int32_t row = dependent[i];
    const typename Field::Element b = reduced[row];
    if constexpr (Field::is_exact) return {field.is_zero(b) ? 0.0 : 1.0, row};
    const double scale = field.size(b) + rejected[row].size * x_norm->value;
    const double left = std::fabs(static_cast<double>(field.number(b.value)));
    return {left > 0 ? left / scale : 0.0, row};
  }
};

}  // namespace echelon::mapped

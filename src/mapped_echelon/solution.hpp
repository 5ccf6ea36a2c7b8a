// SPDX-License-Identifier: BSD-3-Clause
/// Loop bodies for right-hand sides.
#pragma once

#include "backend/backend.hpp"
#include "exact/reduction.hpp"
#include "support/hash.hpp"

#include <cmath>
#include <cstdint>

namespace echelon::mapped {

/// Copies the right-hand side: reduced = b.
template <class Field, class T>
struct LoadRightHandSide {
  Field field;
  const T* b;
  typename Field::Element* reduced;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { reduced[i] = field.element(b[i]); }
};

/// Applies a recorded reduction to a right-hand side.
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

/// Converts x from the field to real numbers.
template <class Field, class T>
struct StoreSolution {
  Field field;
  const typename Field::Value* solution;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] = static_cast<T>(field.number(solution[i])); }
};

/// Computes reduced = b - A x, summed in the order of the row's elements, and its largest magnitude.
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

/// Sets v to numbers between 1 and 2 from a hash of the index.
template <class T>
struct TestSolution {
  T* v;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::uint64_t bits = hash_bits(static_cast<std::uint64_t>(i) + golden_ratio_64);
    v[i] = static_cast<T>(1 + uniform_number(bits));
  }
};

/// Computes b = -reduced, which is A v if reduced is the residual of v for a right-hand side of zeros.
template <class T>
struct StoreRightHandSide {
  const typename RealField<T>::Element* reduced;
  T* b;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { b[i] = -reduced[i].value; }
};

/// The row with the largest error, the first of several.
struct LargestRowError {
  double error = -1;
  std::int64_t row = -1;
  friend ECHELON_ANYWHERE LargestRowError combine(LargestRowError a, LargestRowError b) {
    return a.error > b.error || (a.error == b.error && a.row <= b.row) ? a : b;
  }
};

/// Right-hand side that remains in a dependent row, relative to the sum of the magnitudes of its terms.
template <class Field>
struct Contradiction {
  Field field;
  const std::int32_t* dependent;
  const typename Field::Element* reduced;
  ECHELON_ANYWHERE LargestRowError operator()(std::int64_t i) const {
    return {field.relative_size(reduced[dependent[i]]), dependent[i]};
  }
};

/// Residual |b - A x| of a row, relative to ||a||_1 ||x||_inf + |b|.
template <class T>
struct RelativeRowError {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  const T* b;
  const T* x;
  const Largest* x_norm;
  ECHELON_ANYWHERE LargestRowError operator()(std::int64_t i) const {
    double left = b[i];
    double sum = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      left -= static_cast<double>(rounded_product(values[k], x[columns[k]]));
      sum += std::fabs(static_cast<double>(values[k]));
    }
    const double scale = sum * x_norm->value + std::fabs(static_cast<double>(b[i]));
    return {left != 0 ? std::fabs(left) / scale : 0.0, i};
  }
};

}  // namespace echelon::mapped

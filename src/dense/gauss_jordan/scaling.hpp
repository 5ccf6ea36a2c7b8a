// SPDX-License-Identifier: BSD-3-Clause
/// Scaling of matrices by powers of two, which causes no rounding errors.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "dense/panels/scan.hpp"
#include "linalg/balancing_scale.hpp"
#include "linalg/line_scaling.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/direct/scales.hpp"
#include "support/scalar.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon {

namespace scaling_detail {

template <class T>
struct BalanceRow {
  const double* row_sums;
  T* row_scale;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    row_scale[i] = T{balancing_scale<Real<T>>(row_sums[i])};
  }
};

/// Magnitude of element e, in column-major order, after scaling of the rows; of a product that underflows the
/// smallest normal number, which makes the scales differ by much.
template <class T>
struct RowScaledMagnitude {
  static constexpr Real<T> least = std::numeric_limits<Real<T>>::min();
  DenseView<const T> A;
  const T* row_scale;  // null: 1
  ECHELON_ANYWHERE Largest operator()(std::int64_t e) const {
    const std::int64_t i = e % A.rows();
    const T element = A.data()[e / A.rows() * A.leading() + i];
    if (row_scale == nullptr) return {magnitude(element)};
    const auto size = static_cast<Real<T>>(magnitude(element * row_scale[i]));
    return {static_cast<double>(element != T{0} && size < least ? least : size)};
  }
};

template <class T>
struct BalanceColumn {
  const Largest* largest;
  T* column_scale;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    column_scale[j] = T{balancing_scale<Real<T>>(largest[j].value)};
  }
};

/// The least and the largest positive number of several, DBL_MAX and 0 if there are none.
struct Extent {
  double least = DBL_MAX;
  double largest = 0;
  friend ECHELON_ANYWHERE Extent combine(Extent a, Extent b) {
    return {a.least < b.least ? a.least : b.least, a.largest > b.largest ? a.largest : b.largest};
  }
  /// Whether the numbers differ by more than this factor.
  [[nodiscard]] bool exceeds(double factor) const { return largest > factor * least; }
};

template <class Numbers>
struct ExtentOf {
  const Numbers* numbers;
  static ECHELON_ANYWHERE double value(Largest number) { return number.value; }
  static ECHELON_ANYWHERE double value(double number) { return number; }
  ECHELON_ANYWHERE Extent operator()(std::int64_t i) const {
    const auto number = static_cast<double>(value(numbers[i]));
    if (!(number > 0)) return {};
    return {number, number};
  }
};

template <class T>
struct ScaleElements {
  DenseView<T> A;
  Real<T> scale;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    T& element = A.data()[e / A.rows() * A.leading() + e % A.rows()];
    element = element * scale;
  }
};

/// Largest magnitude of each column of A, whose rows are multiplied by `row_scale` unless it is null.
template <class B, class T>
Array<Largest> column_maxima(B& backend, DenseView<const T> A, const T* row_scale) {
  Array<std::int64_t> offsets(A.device(), A.columns() + 1);
  Array<Largest> largest(A.device(), A.columns());
  backend.for_each(A.columns() + 1, Multiples{A.rows(), offsets.data()});
  backend.segmented_reduce(A.columns(), offsets.data(), RowScaledMagnitude<T>{A, row_scale}, largest.data());
  return largest;
}

template <class B, class Numbers>
Extent extent_of(B& backend, std::int64_t n, const Numbers* numbers) {
  Array<Extent> extent(backend.device(), 1);
  backend.reduce(n, ExtentOf<Numbers>{numbers}, Store<Extent>{extent.data()});
  return backend.read(extent.data());
}

}  // namespace scaling_detail

/// Multiplies A by a power of two when its largest magnitude is far from 1; returns the exponent, or 0.
template <class B, class T>
int bring_into_range(B& backend, DenseView<T> A, double magnitude) {
  if (!far_from_one<T>(magnitude)) return 0;
  const auto scale = balancing_scale<Real<T>>(magnitude);
  backend.for_each(A.rows() * A.columns(), scaling_detail::ScaleElements<T>{A, scale});
  return std::ilogb(scale);
}

/// Scales rows, then columns, of an m by n matrix to magnitudes of about 1: rows by their sums of magnitudes,
/// columns by their largest elements. Where these sizes differ by more than 2^20, so that it matters which
/// are scaled first, the scales are those of find_line_scales(). Returns the scales, in the backend's memory.
template <class B, class T>
Scales<T> equilibrate(B& backend, DenseView<T> A, const double* row_sums) {
  using namespace scaling_detail;
  Scales<T> scales{Array<T>(A.device(), A.rows()), Array<T>(A.device(), A.columns())};
  backend.for_each(A.rows(), BalanceRow<T>{row_sums, scales.rows.data()});
  const Array<Largest> largest = column_maxima<B, T>(backend, A, scales.rows.data());
  if (extent_of(backend, A.rows(), row_sums).exceeds(order_matters) ||
      extent_of(backend, A.columns(), largest.data()).exceeds(order_matters)) {
    find_line_scales<B, T>(backend, A, scales.rows.data(), scales.columns.data());
  } else {
    backend.for_each(A.columns(), BalanceColumn<T>{largest.data(), scales.columns.data()});
  }
  scale_by<B, T>(backend, scales, A);
  return scales;
}

/// Equilibrates A if the sums of its rows or the largest elements of its columns differ by more than a
/// thousand times; otherwise A is unchanged, and the result is empty.
template <class B, class T>
Scales<T> equilibrate_if_uneven(B& backend, DenseView<T> A, const double* row_sums) {
  using namespace scaling_detail;
  constexpr double uneven = 1000;
  if (!extent_of(backend, A.rows(), row_sums).exceeds(uneven)) {
    const Array<Largest> largest = column_maxima<B, T>(backend, A, nullptr);
    if (!extent_of(backend, A.columns(), largest.data()).exceeds(uneven)) return {};
  }
  return equilibrate(backend, A, row_sums);
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Scaling of matrices by powers of two, which causes no rounding errors.
#pragma once

#include "backend/backend.hpp"
#include "dense/panels/scan.hpp"
#include "linalg/balancing_scale.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon {

namespace scaling_detail {

template <class T>
struct BalanceRow {
  const double* row_sums;
  T* row_scale;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { row_scale[i] = balancing_scale<T>(row_sums[i]); }
};

/// Magnitude of element e, in column-major order, after scaling of the rows.
template <class T>
struct RowScaledMagnitude {
  DenseView<const T> A;
  const T* row_scale;
  ECHELON_ANYWHERE Largest operator()(std::int64_t e) const {
    const std::int64_t i = e % A.rows();
    return {std::fabs(static_cast<double>(A.data()[e / A.rows() * A.leading() + i] * row_scale[i]))};
  }
};

template <class T>
struct BalanceColumn {
  const Largest* largest;
  T* column_scale;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    column_scale[j] = balancing_scale<T>(largest[j].value);
  }
};

template <class T>
struct ScaleRowsAndColumns {
  DenseView<T> A;
  const T* row_scale;
  const T* column_scale;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % A.rows();
    const std::int64_t j = e / A.rows();
    T& element = A.data()[j * A.leading() + i];
    element = element * row_scale[i] * column_scale[j];
  }
};

/// Sets target[i] = i step.
struct Multiples {
  std::int64_t step;
  std::int64_t* target;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { target[i] = i * step; }
};

template <class T>
struct ScaleElements {
  DenseView<T> A;
  T scale;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    A.data()[e / A.rows() * A.leading() + e % A.rows()] *= scale;
  }
};

}  // namespace scaling_detail

/// Multiplies A by a power of two when its largest magnitude is far from 1; returns the exponent, or 0.
template <class B, class T>
int bring_into_range(B& backend, DenseView<T> A, double magnitude) {
  if (!far_from_one<T>(magnitude)) return 0;
  const T scale = balancing_scale<T>(magnitude);
  backend.for_each(A.rows() * A.columns(), scaling_detail::ScaleElements<T>{A, scale});
  return std::ilogb(scale);
}

/// Scales rows, then columns, of an m by n matrix to magnitudes of about 1: rows by their sums of magnitudes,
/// columns by their largest elements. Fills `row_scale` (m elements) and `column_scale` (n), in the backend's
/// memory.
template <class B, class T>
void equilibrate(B& backend, DenseView<T> A, const double* row_sums, T* row_scale, T* column_scale) {
  using namespace scaling_detail;
  backend.for_each(A.rows(), BalanceRow<T>{row_sums, row_scale});
  Array<std::int64_t> offsets(A.device(), A.columns() + 1);
  Array<Largest> largest(A.device(), A.columns());
  backend.for_each(A.columns() + 1, Multiples{A.rows(), offsets.data()});
  backend.segmented_reduce(A.columns(), offsets.data(), RowScaledMagnitude<T>{A, row_scale}, largest.data());
  backend.for_each(A.columns(), BalanceColumn<T>{largest.data(), column_scale});
  backend.for_each(A.rows() * A.columns(), ScaleRowsAndColumns<T>{A, row_scale, column_scale});
}

}  // namespace echelon

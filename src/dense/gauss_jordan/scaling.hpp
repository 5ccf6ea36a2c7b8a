// SPDX-License-Identifier: BSD-3-Clause
/// Scaling of matrices by powers of two, which causes no rounding errors.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "dense/panels/scan.hpp"
#include "linalg/balancing_scale.hpp"
#include "linalg/vector/functors.hpp"

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
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { row_scale[i] = balancing_scale<T>(row_sums[i]); }
};

/// Magnitude of element e, in column-major order, after scaling of the rows; of a product that underflows the
/// smallest normal number, which makes the scales differ by much.
template <class T>
struct RowScaledMagnitude {
  static constexpr T least = std::numeric_limits<T>::min();
  DenseView<const T> A;
  const T* row_scale;  // null: 1
  ECHELON_ANYWHERE Largest operator()(std::int64_t e) const {
    const std::int64_t i = e % A.rows();
    const T element = A.data()[e / A.rows() * A.leading() + i];
    if (row_scale == nullptr) return {std::fabs(static_cast<double>(element))};
    const T magnitude = std::fabs(element * row_scale[i]);
    return {static_cast<double>(element != 0 && magnitude < least ? least : magnitude)};
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

/// Multiplies as ScaleRowsAndColumns does, with the exact product of the scales, which may be out of range.
template <class T>
struct ScaleByExponents {
  DenseView<T> A;
  const T* row_scale;
  const T* column_scale;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % A.rows();
    const std::int64_t j = e / A.rows();
    T& element = A.data()[j * A.leading() + i];
    element = static_cast<T>(
        std::ldexp(static_cast<double>(element), std::ilogb(row_scale[i]) + std::ilogb(column_scale[j])));
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

/// Binary exponents of the nonzeros of a row or column.
struct Exponents {
  double sum = 0;
  double count = 0;
  double largest = -DBL_MAX;
  friend ECHELON_ANYWHERE Exponents combine(Exponents a, Exponents b) {
    return {a.sum + b.sum, a.count + b.count, a.largest > b.largest ? a.largest : b.largest};
  }
};

/// Exponent of element e, counted by rows or by columns, where rows and columns are multiplied by powers of
/// two.
template <class T>
struct ScaledExponent {
  DenseView<const T> A;
  const double* rows;     // exponents of the powers
  const double* columns;  // the same
  bool by_rows;
  ECHELON_ANYWHERE Exponents operator()(std::int64_t e) const {
    const std::int64_t i = by_rows ? e / A.columns() : e % A.rows();
    const std::int64_t j = by_rows ? e % A.columns() : e / A.rows();
    const T element = A.data()[j * A.leading() + i];
    if (element == 0 || element - element != 0) return {};
    const double exponent = std::ilogb(element) + rows[i] + columns[j];
    return {exponent, 1, exponent};
  }
};

/// Steps of `find_exponents`: lines are multiplied by the square root of the reciprocal of the geometric mean
/// of their elements, or of the largest one, or by the reciprocal of the largest one itself.
enum class ScalingStep { mean, largest, final };

struct UpdateExponents {
  const Exponents* lines;
  ScalingStep step;
  double* exponents;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const Exponents line = lines[i];
    if (line.count == 0) return;
    switch (step) {
      case ScalingStep::mean:
        exponents[i] -= line.sum / line.count / 2;
        break;
      case ScalingStep::largest:
        exponents[i] -= line.largest / 2;
        break;
      case ScalingStep::final:
        exponents[i] = std::floor(exponents[i] - line.largest);
    }
  }
};

/// Sets the scale to 2^exponent, within the range of `balancing_scale`.
template <class T>
struct SetScale {
  const double* exponents;
  T* scale;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    constexpr double most = std::numeric_limits<T>::max_exponent - 8;
    const double exponent = exponents[i] < -most ? -most : (exponents[i] > most ? most : exponents[i]);
    scale[i] = static_cast<T>(std::ldexp(1.0, static_cast<int>(exponent)));
  }
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

/// Scales of rows and columns, all of whose elements are powers of two; empty: not scaled.
template <class T>
struct LineScales {
  Array<T> rows, columns;
  [[nodiscard]] bool empty() const { return rows.size() == 0; }
  [[nodiscard]] std::size_t bytes() const { return rows.bytes() + columns.bytes(); }
};

namespace scaling_detail {

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

/// Scales for a matrix whose rows or columns differ by many orders of magnitude. The results for A and for
/// D A E are about those of one matrix, for diagonal matrices D and E: the geometric means of lines become
/// 1, which undoes D and E where most elements are nonzero, then their largest elements, alternately for
/// rows and columns together. 27 passes over A.
///
/// D. Ruiz, A scaling algorithm to equilibrate both rows and columns norms in matrices, RAL-TR-2001-034.
template <class B, class T>
void find_scales(B& backend, DenseView<const T> A, LineScales<T>& scales) {
  constexpr int halvings = 12;  // of the logarithms, at most 2^11 for doubles
  const std::int64_t m = A.rows();
  const std::int64_t n = A.columns();
  Array<double> rows(A.device(), m);
  Array<double> columns(A.device(), n);
  backend.fill(m, 0.0, rows.data());
  backend.fill(n, 0.0, columns.data());
  Array<std::int64_t> row_offsets(A.device(), m + 1);
  Array<std::int64_t> column_offsets(A.device(), n + 1);
  backend.for_each(m + 1, Multiples{n, row_offsets.data()});
  backend.for_each(n + 1, Multiples{m, column_offsets.data()});
  Array<Exponents> of_rows(A.device(), m);
  Array<Exponents> of_columns(A.device(), n);
  const auto inspect_rows = [&] {
    backend.segmented_reduce(m, row_offsets.data(), ScaledExponent<T>{A, rows.data(), columns.data(), true},
                             of_rows.data());
  };
  const auto inspect_columns = [&] {
    backend.segmented_reduce(n, column_offsets.data(),
                             ScaledExponent<T>{A, rows.data(), columns.data(), false}, of_columns.data());
  };
  for (const ScalingStep step : {ScalingStep::mean, ScalingStep::largest}) {
    for (int k = 0; k < halvings; ++k) {
      inspect_rows();
      inspect_columns();
      backend.for_each(m, UpdateExponents{of_rows.data(), step, rows.data()});
      backend.for_each(n, UpdateExponents{of_columns.data(), step, columns.data()});
    }
  }
  inspect_rows();
  backend.for_each(m, UpdateExponents{of_rows.data(), ScalingStep::final, rows.data()});
  inspect_columns();
  backend.for_each(n, UpdateExponents{of_columns.data(), ScalingStep::final, columns.data()});
  backend.for_each(m, SetScale<T>{rows.data(), scales.rows.data()});
  backend.for_each(n, SetScale<T>{columns.data(), scales.columns.data()});
  backend.synchronize();
}

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
/// columns by their largest elements. Where these scales differ by more than 2^20, so that it matters which
/// are scaled first, the scales are found by alternating steps. Returns the scales, in the backend's memory.
template <class B, class T>
LineScales<T> equilibrate(B& backend, DenseView<T> A, const double* row_sums) {
  using namespace scaling_detail;
  constexpr double order_matters = 0x1p20;
  const std::int64_t elements = A.rows() * A.columns();
  LineScales<T> scales{Array<T>(A.device(), A.rows()), Array<T>(A.device(), A.columns())};
  backend.for_each(A.rows(), BalanceRow<T>{row_sums, scales.rows.data()});
  const Array<Largest> largest = column_maxima<B, T>(backend, A, scales.rows.data());
  if (extent_of(backend, A.rows(), row_sums).exceeds(order_matters) ||
      extent_of(backend, A.columns(), largest.data()).exceeds(order_matters)) {
    find_scales<B, T>(backend, A, scales);
    backend.for_each(elements, ScaleByExponents<T>{A, scales.rows.data(), scales.columns.data()});
    return scales;
  }
  backend.for_each(A.columns(), BalanceColumn<T>{largest.data(), scales.columns.data()});
  backend.for_each(elements, ScaleRowsAndColumns<T>{A, scales.rows.data(), scales.columns.data()});
  return scales;
}

/// Equilibrates A if the sums of its rows or the largest elements of its columns differ by more than a
/// thousand times; otherwise A is unchanged, and the result is empty.
template <class B, class T>
LineScales<T> equilibrate_if_uneven(B& backend, DenseView<T> A, const double* row_sums) {
  using namespace scaling_detail;
  constexpr double uneven = 1000;
  if (!extent_of(backend, A.rows(), row_sums).exceeds(uneven)) {
    const Array<Largest> largest = column_maxima<B, T>(backend, A, nullptr);
    if (!extent_of(backend, A.columns(), largest.data()).exceeds(uneven)) return {};
  }
  return equilibrate(backend, A, row_sums);
}

}  // namespace echelon

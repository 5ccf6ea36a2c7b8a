// SPDX-License-Identifier: BSD-3-Clause
/// scale() of scaling.hpp in steps for any backend, with the magnitudes of the lines measured by its own
/// kernels or in its loops.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "dense/factorization/scaling.hpp"
#include "linalg/line_scaling.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/direct/scales.hpp"
#include "support/scalar.hpp"

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace echelon::magnitudes {

/// The first line of zeros, and the range of the lines' largest magnitudes.
struct LineRange {
  FirstIndex zero = {};
  double smallest = INFINITY;
  double largest = 0;
  friend ECHELON_ANYWHERE LineRange combine(LineRange a, LineRange b) {
    return {combine(a.zero, b.zero), a.smallest < b.smallest ? a.smallest : b.smallest,
            a.largest > b.largest ? a.largest : b.largest};
  }
  /// Whether the magnitudes differ by more than this factor.
  [[nodiscard]] bool differ(double factor) const { return smallest < largest / factor; }
  [[nodiscard]] bool uneven() const { return differ(10); }
};

/// scale[i] = power of two that brings a line's largest magnitude near 1; scaling by it is exact.
template <class T>
struct ChooseLineScale {
  const double* largest;
  T* scale;
  int lowest_exponent;
  int highest_exponent;
  ECHELON_ANYWHERE LineRange operator()(std::int64_t i) const {
    if (largest[i] == 0) return {{i}, 0, 0};
    const int wanted = -std::ilogb(largest[i]);
    const int exponent =
        wanted < lowest_exponent ? lowest_exponent : (wanted > highest_exponent ? highest_exponent : wanted);
    scale[i] = static_cast<T>(std::ldexp(1.0, exponent));
    return {{}, largest[i], largest[i]};
  }
};

/// |a_ij|, a term of a column sum.
template <class T>
struct MatrixMagnitude {
  DenseView<const T> A;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i, std::int64_t j) const {
    return {magnitude(A.data()[i + j * A.leading()])};
  }
};

/// |a_ij| of R A.
template <class T>
struct MagnitudeOfScaledRows {
  DenseView<const T> A;
  const T* row_scale;  ///< null: 1
  ECHELON_ANYWHERE Largest operator()(std::int64_t i, std::int64_t j) const {
    const T element = A.data()[i + j * A.leading()];
    return {magnitude(row_scale == nullptr ? element : element * row_scale[i])};
  }
};

/// results[i] = f(i, 0) + ... + f(i, n-1) in the sense of V's combine.
template <class V, class F>
struct CombineRow {
  std::int64_t n;
  F f;
  double* results;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    V value{};
    for (std::int64_t j = 0; j < n; ++j) value = combine(value, f(i, j));
    results[i] = value.value;
  }
};
/// results[j] = f(0, j) + ... + f(n-1, j).
template <class V, class F>
struct CombineColumn {
  std::int64_t n;
  F f;
  double* results;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    V value{};
    for (std::int64_t i = 0; i < n; ++i) value = combine(value, f(i, j));
    results[j] = value.value;
  }
};

/// Measures the lines of a column-major matrix in the loops of any backend. Queued.
template <class B, class T>
struct LineLoops {
  B& backend;
  // NOLINTBEGIN(readability-non-const-parameter): the loops write the results
  /// largest[i] = max |a_ij| of row i.
  void row_maxima(DenseView<const T> A, double* largest) const {
    const MagnitudeOfScaledRows<T> f{A, nullptr};
    backend.for_each(A.rows(), CombineRow<Largest, MagnitudeOfScaledRows<T>>{A.columns(), f, largest});
  }
  /// largest[j] = max |r_i a_ij| of column j; `row_scale` may be null.
  void column_maxima(DenseView<const T> A, const T* row_scale, double* largest) const {
    const MagnitudeOfScaledRows<T> f{A, row_scale};
    backend.for_each(A.columns(), CombineColumn<Largest, MagnitudeOfScaledRows<T>>{A.rows(), f, largest});
  }
  /// sums[j] = sum of |a_ij| of column j.
  void column_sums(DenseView<const T> A, double* sums) const {
    backend.for_each(A.columns(), CombineColumn<Sum, MatrixMagnitude<T>>{A.rows(), {A}, sums});
  }
  // NOLINTEND(readability-non-const-parameter)
};

}  // namespace echelon::magnitudes

namespace echelon::lu {

namespace scaling_steps {

/// The scale of each line, and the range of the lines' magnitudes. Waits.
template <class T, class B>
magnitudes::LineRange select_scales(B& backend, const Array<double>& largest, Array<T>& scale) {
  scale = Array<T>(backend.device(), largest.size());
  Array<magnitudes::LineRange> lines(backend.device(), 1);
  backend.reduce(
      largest.size(),
      magnitudes::ChooseLineScale<T>{largest.data(), scale.data(), std::numeric_limits<Real<T>>::min_exponent,
                                     std::numeric_limits<Real<T>>::max_exponent - 1},
      Store<magnitudes::LineRange>{lines.data()});
  return backend.read(lines.data());
}

template <class T>
bool extreme(const magnitudes::LineRange& lines) {
  constexpr double small = std::numeric_limits<Real<T>>::min() / std::numeric_limits<Real<T>>::epsilon();
  return lines.largest < small || lines.largest > 1 / small;
}

}  // namespace scaling_steps

/// scale() with the lines measured by `measure`, as by LineLoops.
template <class B, class T, class Lines>
ScaledNorms scale_in_steps(B& backend, DenseView<T> A, bool equilibrated, const Lines& measure,
                           Scales<T>& scales) {
  using magnitudes::LineRange;
  Array<double> sizes(backend.device(), A.rows());
  Array<T> row_scale;
  Array<T> column_scale;
  const auto columns_of = [&](const T* scaled_by) {
    measure.column_maxima(A, scaled_by, sizes.data());
    return scaling_steps::select_scales(backend, sizes, column_scale);
  };
  ScaledNorms norms;
  scales = {};
  measure.row_maxima(A, sizes.data());
  const LineRange rows = scaling_steps::select_scales(backend, sizes, row_scale);
  if (rows.zero.value != FirstIndex::none) norms.zero_row = rows.zero.value;
  if (norms.zero_row >= 0) return norms;
  LineRange columns = columns_of(nullptr);
  if (columns.zero.value != FirstIndex::none) norms.zero_column = columns.zero.value;
  if (norms.zero_column >= 0) return norms;
  if (equilibrated) {
    if (rows.differ(order_matters) || columns.differ(order_matters)) {
      scales = {std::move(row_scale), std::move(column_scale)};
      find_line_scales<B, T>(backend, A, scales.rows.data(), scales.columns.data());
    } else {
      if (rows.uneven() || scaling_steps::extreme<T>(rows)) {
        columns = columns_of(row_scale.data());
        scales.rows = std::move(row_scale);
      }
      if (columns.uneven()) scales.columns = std::move(column_scale);
    }
    scale_by(backend, scales, A);
    if (scales.columns.size() > 0) columns = columns_of(nullptr);
  }
  norms.largest = columns.largest;
  measure.column_sums(A, sizes.data());
  Array<Largest> one(backend.device(), 1);
  backend.reduce(sizes.size(), LargestMagnitude<const double*>{sizes.data()}, Store<Largest>{one.data()});
  norms.one = backend.read(one.data()).value;
  return norms;
}

}  // namespace echelon::lu

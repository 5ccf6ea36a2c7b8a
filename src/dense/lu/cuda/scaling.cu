// SPDX-License-Identifier: BSD-3-Clause
#include "backend/store.hpp"
#include "dense/factorization/magnitudes.cuh"
#include "dense/factorization/scaling.hpp"
#include "linalg/line_scaling.hpp"

#include <cmath>
#include <limits>

namespace echelon::lu {

namespace {

using magnitudes::Lines;

/// The scale of each line, and the range of the lines' magnitudes. Waits.
template <class T>
Lines select_scales(Cuda& backend, const Array<double>& largest, Array<T>& scale) {
  scale = Array<T>(backend.device(), largest.size());
  Array<Lines> lines(backend.device(), 1);
  backend.reduce(
      largest.size(),
      magnitudes::ChooseScale<T>{largest.data(), scale.data(), std::numeric_limits<T>::min_exponent,
                                 std::numeric_limits<T>::max_exponent - 1},
      Store<Lines>{lines.data()});
  return backend.read(lines.data());
}

template <class T>
bool extreme(const Lines& lines) {
  constexpr double small = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  return lines.largest < small || lines.largest > 1 / small;
}

double maximum(Cuda& backend, const Array<double>& values) {
  Array<Largest> result(backend.device(), 1);
  backend.reduce(values.size(), magnitudes::ElementMagnitude<double>{values.data()},
                 Store<Largest>{result.data()});
  return backend.read(result.data()).value;
}

template <class T>
struct MagnitudeOfScaledRow {
  std::int64_t n;
  const T* a;
  const T* row_scale;  // null: 1
  ECHELON_ANYWHERE Largest operator()(std::int64_t i, std::int64_t j) const {
    const T element = row_scale == nullptr ? a[i + j * n] : a[i + j * n] * row_scale[i];
    return {std::fabs(static_cast<double>(element))};
  }
};

/// Measures the columns of A, whose rows are multiplied by `row_scale` unless it is null, and selects their
/// scales. `sizes` gets the largest magnitudes.
template <class T>
Lines measure_columns(Cuda& backend, DenseView<const T> A, const T* row_scale, Array<double>& sizes,
                      Array<T>& scale) {
  magnitudes::for_columns<Largest>(backend.device(), A.columns(),
                                   MagnitudeOfScaledRow<T>{A.rows(), A.data(), row_scale}, sizes.data());
  return select_scales(backend, sizes, scale);
}

}  // namespace

template <class T>
ScaledNorms scale(Cuda& backend, DenseView<T> A, bool equilibrated, Scales<T>& scales) {
  const std::int64_t n = A.rows();
  Array<double> sizes(backend.device(), n);
  Array<T> row_scale;
  Array<T> column_scale;
  ScaledNorms norms;
  scales = {};
  magnitudes::row_maxima<T>(backend, A, sizes.data());
  const Lines rows = select_scales(backend, sizes, row_scale);
  if (rows.zero.value != FirstIndex::none) norms.zero_row = rows.zero.value;
  if (norms.zero_row >= 0) return norms;
  Lines columns = measure_columns<T>(backend, A, nullptr, sizes, column_scale);
  if (columns.zero.value != FirstIndex::none) norms.zero_column = columns.zero.value;
  if (norms.zero_column >= 0) return norms;
  if (equilibrated) {
    if (rows.differ(order_matters) || columns.differ(order_matters)) {
      scales = {std::move(row_scale), std::move(column_scale)};
      find_line_scales<Cuda, T>(backend, A, scales.rows.data(), scales.columns.data());
    } else {
      if (rows.uneven() || extreme<T>(rows)) {
        columns = measure_columns<T>(backend, A, row_scale.data(), sizes, column_scale);
        scales.rows = std::move(row_scale);
      }
      if (columns.uneven()) scales.columns = std::move(column_scale);
    }
    scale_by(backend, scales, A);
    if (scales.columns.size() > 0) columns = measure_columns<T>(backend, A, nullptr, sizes, column_scale);
  }
  norms.largest = columns.largest;
  magnitudes::for_columns<Sum>(backend.device(), n, magnitudes::Magnitude<T>{n, A.data()}, sizes.data());
  norms.one = maximum(backend, sizes);
  return norms;
}

template ScaledNorms scale(Cuda&, DenseView<float>, bool, Scales<float>&);
template ScaledNorms scale(Cuda&, DenseView<double>, bool, Scales<double>&);

}  // namespace echelon::lu

// SPDX-License-Identifier: BSD-3-Clause
/// Conversion of a sparse matrix to band storage, with rows and columns scaled by powers of two where their
/// sizes differ. Row i of the band has lower + upper + 1 elements, from column i - lower on.
#pragma once

#include "backend/backend.hpp"
#include "backend/store.hpp"
#include "linalg/balancing_scale.hpp"
#include "linalg/line_scaling.hpp"
#include "linalg/vector/functors.hpp"
#include "sparse_direct/banded/factors.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace echelon {
class Cuda;
}

namespace echelon::banded {

/// Half-bandwidths of the elements that differ from zero.
struct Bandwidths {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  friend ECHELON_ANYWHERE Bandwidths combine(Bandwidths a, Bandwidths b) {
    return {a.lower > b.lower ? a.lower : b.lower, a.upper > b.upper ? a.upper : b.upper};
  }
};

/// A sparse matrix whose row i is row order[i] of A, columns likewise; without an order, A itself.
template <class T>
struct OrderedMatrix {
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  const T* values;
  const std::int32_t* order;    ///< or null
  const std::int32_t* inverse;  ///< inverse[order[i]] = i

  [[nodiscard]] ECHELON_ANYWHERE std::int64_t row(std::int64_t i) const {
    return order == nullptr ? i : order[i];
  }
  /// Column of element k.
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t column(std::int64_t k) const {
    const std::int32_t j = column_indices[k];
    return order == nullptr ? j : inverse[j];
  }
};

template <class T>
struct BandwidthsOfRow {
  OrderedMatrix<T> A;
  ECHELON_ANYWHERE Bandwidths operator()(std::int64_t i) const {
    if (A.order == nullptr) return of_ascending_row(i);
    Bandwidths widths;
    const std::int64_t row = A.row(i);
    for (std::int64_t k = A.row_offsets[row]; k < A.row_offsets[row + 1]; ++k) {
      const std::int64_t diagonal = A.column(k) - i;
      if (A.values[k] != T{0}) widths = combine(widths, Bandwidths{-diagonal, diagonal});
    }
    return widths;
  }
  /// From the first and the last nonzero of row i of A itself.
  ECHELON_ANYWHERE Bandwidths of_ascending_row(std::int64_t i) const {
    std::int64_t first = A.row_offsets[i];
    std::int64_t end = A.row_offsets[i + 1];
    while (first < end && A.values[first] == T{0}) ++first;
    while (end > first && A.values[end - 1] == T{0}) --end;
    if (first == end) return {};
    return combine(Bandwidths{}, Bandwidths{i - A.column_indices[first], A.column_indices[end - 1] - i});
  }
};

/// Range of the largest magnitudes of rows or columns, and the first row or column that is zero. For columns
/// also the largest sum of magnitudes.
struct LineSizes {
  FirstIndex zero = {};
  double smallest = INFINITY;
  double largest = 0;
  double largest_sum = 0;
  friend ECHELON_ANYWHERE LineSizes combine(LineSizes a, LineSizes b) {
    return {combine(a.zero, b.zero), a.smallest < b.smallest ? a.smallest : b.smallest,
            a.largest > b.largest ? a.largest : b.largest,
            a.largest_sum > b.largest_sum ? a.largest_sum : b.largest_sum};
  }
  /// True if scaling pays, by the criterion of LAPACK's laqge.
  template <class T>
  [[nodiscard]] bool uneven() const {
    constexpr double small =
        static_cast<double>(std::numeric_limits<T>::min()) / std::numeric_limits<T>::epsilon();
    return differ(10) || largest < small || largest > 1 / small;
  }
  [[nodiscard]] bool differ(double factor) const { return smallest < largest / factor; }
};

/// Scales a line by its largest magnitude.
template <class T>
struct ChooseRowScale {
  const std::int32_t* order;
  const Largest* largest;  ///< of A's rows
  T* scale;
  ECHELON_ANYWHERE LineSizes operator()(std::int64_t i) const {
    const double magnitude = largest[order == nullptr ? i : order[i]].value;
    if (magnitude == 0) return {{i}, 0, 0, 0};
    scale[i] = balancing_scale<T>(magnitude);
    return {{}, magnitude, magnitude, 0};
  }
};

/// Copies the elements of rows, scaled, to the band: thread t takes every `lanes`-th element of row t /
/// lanes.
template <class T>
struct FillBandRow {
  OrderedMatrix<T> A;
  const T* scale;  ///< or null
  std::int64_t lower;
  std::int64_t width;
  std::int64_t lanes;
  T* band;
  ECHELON_ANYWHERE void operator()(std::int64_t t) const {
    const std::int64_t i = t / lanes;
    const std::int64_t row = A.row(i);
    const T factor = scale == nullptr ? T{1} : scale[i];
    for (std::int64_t k = A.row_offsets[row] + t % lanes; k < A.row_offsets[row + 1]; k += lanes) {
      const std::int64_t at = A.column(k) - i + lower;
      if (at >= 0 && at < width)
        band[i * width + at] = A.values[k] * factor;  // elements outside of the band are stored zeros
    }
  }
};

/// Measures a column of the band and chooses its scale. Groups of `lockstep` neighbouring columns pass over
/// the same rows, so that a GPU reads contiguous elements at once.
template <class T>
struct ChooseColumnScale {
  const T* band;
  std::int64_t n;
  std::int64_t lower;
  std::int64_t upper;
  std::int64_t lockstep;
  T* scale;
  ECHELON_ANYWHERE LineSizes operator()(std::int64_t j) const {
    const std::int64_t group = j / lockstep * lockstep;
    const std::int64_t begin = group > upper ? group - upper : 0;
    const std::int64_t last = group + lockstep - 1 + lower;
    double largest = 0;
    double sum = 0;
    for (std::int64_t i = begin; i <= last && i < n; ++i) {
      if (j - i > upper || i - j > lower) continue;
      const double magnitude = std::fabs(static_cast<double>(band[i * (lower + upper + 1) + j - i + lower]));
      largest = magnitude > largest ? magnitude : largest;
      sum += magnitude;
    }
    if (largest == 0) return {{j}, 0, 0, 0};
    scale[j] = balancing_scale<T>(largest);
    return {{}, largest, largest, sum};
  }
};

/// Scales element e of the band.
template <class T>
struct ScaleBand {
  const T* row_scale;  ///< or null
  const T* column_scale;
  std::int64_t n;
  std::int64_t lower;
  std::int64_t width;
  T* band;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e / width;
    const std::int64_t j = i + e % width - lower;
    if (j < 0 || j >= n) return;
    band[e] = scale_element(band[e], row_scale == nullptr ? T{1} : row_scale[i], column_scale[j]);
  }
};

/// Elements of the rows and of the columns of a band, with zeros where a line leaves the matrix.
template <class T>
struct ElementsOfBand {
  const T* band;
  std::int64_t n;
  std::int64_t lower;
  std::int64_t width;
  [[nodiscard]] ECHELON_ANYWHERE MatrixElement of_rows(std::int64_t e) const {
    return at(e / width, e / width + e % width - lower);
  }
  [[nodiscard]] ECHELON_ANYWHERE MatrixElement of_columns(std::int64_t e) const {
    return at(e / width + lower - e % width, e / width);
  }

 private:
  [[nodiscard]] ECHELON_ANYWHERE MatrixElement at(std::int64_t i, std::int64_t j) const {
    if (i < 0 || i >= n || j < 0 || j >= n) return {};
    return matrix_element(i, j, band[i * width + j - i + lower]);
  }
};

/// A sparse matrix in band storage: row_scale A(order, order) column_scale.
template <class T>
struct AssembledBand {
  Bandwidths widths;
  std::int64_t n = 0;
  Array<T> elements;      ///< n rows of widths.lower + widths.upper + 1
  Array<T> row_scale;     ///< empty: 1
  Array<T> column_scale;  ///< empty: 1
  FirstIndex zero_row = {};
  FirstIndex zero_column = {};
  double norm_one = 0;
  double largest = 0;

  [[nodiscard]] std::int64_t width() const { return widths.lower + widths.upper + 1; }
  [[nodiscard]] BandElements<T> view() const {
    return {elements.data() + widths.lower, width() - 1, 1, widths.lower, widths.upper};
  }
};

template <class B, class T>
[[nodiscard]] Bandwidths find_bandwidths(B& backend, std::int64_t n, const OrderedMatrix<T>& A) {
  Array<Bandwidths> result(backend.device(), 1);
  backend.reduce(n, BandwidthsOfRow<T>{A}, Store<Bandwidths>{result.data()});
  return backend.read(result.data());
}

/// Assembles the band of a matrix with n rows whose elements lie within `widths`. Rows, then columns are
/// scaled where their sizes differ; only one of the two is scaled if that suffices for the other, and both
/// together where their sizes differ by more than `order_matters`.
template <class B, class T>
class BandAssembly {
 public:
  BandAssembly(B& backend, std::int64_t n, const OrderedMatrix<T>& A, Bandwidths widths)
      : backend_(backend), A_(A), sizes_(backend.device(), 1) {
    band_.n = n;
    band_.widths = widths;
    band_.elements = Array<T>(backend.device(), n * band_.width());
    row_scale_ = Array<T>(backend.device(), n);
    column_scale_ = Array<T>(backend.device(), n);
  }

  [[nodiscard]] AssembledBand<T> assemble() {
    const LineSizes rows = measure_rows(true);
    const bool rows_uneven = rows.uneven<T>();
    fill(rows_uneven && !rows.differ(order_matters));
    LineSizes columns = measure_columns();
    band_.zero_row = rows.zero;
    band_.zero_column = columns.zero;
    const bool regular = rows.zero.value == FirstIndex::none && columns.zero.value == FirstIndex::none;
    if (regular && (rows.differ(order_matters) || columns.differ(order_matters))) {
      balance();
      return finish(measure_columns());
    }
    const bool columns_uneven = regular && columns.uneven<T>();
    const bool columns_only = columns_uneven && (!rows_uneven || columns_even_out_rows());
    if (columns_uneven && !columns_only) {
      fill(true);
      measure_columns();
      scale(nullptr);
    } else if (columns_uneven && !rows_uneven) {
      scale(nullptr);
    }
    if (rows_uneven && !columns_only) band_.row_scale = std::move(row_scale_);
    if (columns_uneven) {
      band_.column_scale = std::move(column_scale_);
      column_scale_ = Array<T>(backend_.device(), band_.n);
      columns = measure_columns();
    }
    return finish(columns);
  }

 private:
  static constexpr bool on_gpu = !B::on_host;

  AssembledBand<T> finish(const LineSizes& columns) {
    band_.norm_one = columns.largest_sum;
    band_.largest = columns.largest;
    return std::move(band_);
  }

  /// Scales the rows and columns of the matrix together. Waits.
  void balance() {
    fill(false);
    Array<std::int64_t> offsets(backend_.device(), band_.n + 1);
    backend_.for_each(band_.n + 1, Multiples{band_.width(), offsets.data()});
    LineScaling scaling(backend_, band_.n, band_.n, {offsets.data(), offsets.data()},
                        ElementsOfBand<T>{band_.elements.data(), band_.n, band_.widths.lower, band_.width()});
    scaling.scale_rows();
    scaling.fit();
    scaling.even_out_largest();
    scaling.set(row_scale_.data(), column_scale_.data());
    scale(row_scale_.data());
    backend_.synchronize();
    band_.row_scale = std::move(row_scale_);
    band_.column_scale = std::move(column_scale_);
    column_scale_ = Array<T>(backend_.device(), band_.n);
  }

  /// Measures the rows of A, or those of the band, and chooses the scales of the rows.
  LineSizes measure_rows(bool of_matrix) {
    Array<Largest> largest(backend_.device(), band_.n);
    if (of_matrix) {
      backend_.segmented_reduce(band_.n, A_.row_offsets, LargestMagnitude<const T*>{A_.values},
                                largest.data());
    } else {
      Array<std::int64_t> offsets(backend_.device(), band_.n + 1);
      backend_.for_each(band_.n + 1, Multiples{band_.width(), offsets.data()});
      backend_.segmented_reduce(band_.n, offsets.data(), LargestMagnitude<const T*>{band_.elements.data()},
                                largest.data());
    }
    backend_.reduce(band_.n,
                    ChooseRowScale<T>{of_matrix ? A_.order : nullptr, largest.data(), row_scale_.data()},
                    Store<LineSizes>{sizes_.data()});
    return backend_.read(sizes_.data());
  }

  LineSizes measure_columns() {
    const std::int64_t lockstep = on_gpu ? 32 : 1;
    backend_.reduce(band_.n,
                    ChooseColumnScale<T>{band_.elements.data(), band_.n, band_.widths.lower,
                                         band_.widths.upper, lockstep, column_scale_.data()},
                    Store<LineSizes>{sizes_.data()});
    return backend_.read(sizes_.data());
  }

  void fill(bool scaled) {
    const std::int64_t width = band_.width();
    backend_.fill(band_.n * width, T{0}, band_.elements.data());
    const std::int64_t lanes = on_gpu ? 8 : 1;
    backend_.for_each(band_.n * lanes,
                      FillBandRow<T>{A_, scaled ? row_scale_.data() : nullptr, band_.widths.lower, width,
                                     lanes, band_.elements.data()});
  }

  /// Scales the columns of the band and, unless `row_scale` is null, its rows.
  void scale(const T* row_scale) {
    backend_.for_each(band_.n * band_.width(),
                      ScaleBand<T>{row_scale, column_scale_.data(), band_.n, band_.widths.lower,
                                   band_.width(), band_.elements.data()});
  }

  /// Scales the columns of the matrix but not its rows; true if that makes the rows' sizes similar.
  bool columns_even_out_rows() {
    fill(false);
    measure_columns();
    scale(nullptr);
    const bool even = !measure_rows(false).template uneven<T>();
    if (!even) measure_rows(true);
    return even;
  }

  B& backend_;
  OrderedMatrix<T> A_;
  Array<LineSizes> sizes_;
  Array<T> row_scale_, column_scale_;
  AssembledBand<T> band_;
};

}  // namespace echelon::banded

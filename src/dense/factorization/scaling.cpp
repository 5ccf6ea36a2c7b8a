// SPDX-License-Identifier: BSD-3-Clause
#include "dense/factorization/scaling.hpp"

#include "backend/host/host.hpp"
#include "linalg/balancing_scale.hpp"
#include "linalg/line_scaling.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace echelon::lu {

namespace {

/// Least number of elements for which a pass over the matrix is faster on several threads.
constexpr std::int64_t min_parallel_elements = 100'000;

/// Largest magnitudes of rows and columns, and sums of the columns' magnitudes.
template <class T>
struct LineMagnitudes {
  explicit LineMagnitudes(const DenseView<T>& A)
      : rows(static_cast<std::size_t>(A.rows())),
        columns(static_cast<std::size_t>(A.columns())),
        column_sums(static_cast<std::size_t>(A.columns())) {}
  std::vector<T> rows, columns;
  std::vector<double> column_sums;
};

/// Columns [first, last) of A, whose rows are multiplied by `row_scale` unless it is null.
template <class T>
void inspect_columns(DenseView<const T> A, const T* row_scale, std::int64_t first, std::int64_t last,
                     T* largest_of_rows, LineMagnitudes<T>& lines) {
  for (std::int64_t j = first; j < last; ++j) {
    const T* const a = A.column(j);
    T largest = 0;
    double sum = 0;
#pragma omp simd reduction(max : largest) reduction(+ : sum)
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      const T magnitude = std::abs(row_scale == nullptr ? a[i] : a[i] * row_scale[i]);
      largest_of_rows[i] = largest_of_rows[i] > magnitude ? largest_of_rows[i] : magnitude;
      largest = largest > magnitude ? largest : magnitude;
      sum += static_cast<double>(magnitude);
    }
    lines.columns[static_cast<std::size_t>(j)] = largest;
    lines.column_sums[static_cast<std::size_t>(j)] = sum;
  }
}

template <class B, class T>
LineMagnitudes<T> inspect(B& backend, DenseView<T> A, const T* row_scale) {
  LineMagnitudes<T> lines(A);
  std::vector<std::vector<T>> largest_of_rows(static_cast<std::size_t>(backend.device().threads()));
  backend.parallel(A.rows() * A.columns() > min_parallel_elements, [&](int part, int parts) {
    std::vector<T>& largest = largest_of_rows[static_cast<std::size_t>(part)];
    largest.assign(lines.rows.size(), T{0});
    inspect_columns<T>(A, row_scale, A.columns() * part / parts, A.columns() * (part + 1) / parts,
                       largest.data(), lines);
  });
  for (const std::vector<T>& part : largest_of_rows) {
    for (std::size_t i = 0; i < part.size(); ++i) lines.rows[i] = std::max(lines.rows[i], part[i]);
  }
  return lines;
}

template <class T>
std::int64_t first_zero(const std::vector<T>& sizes) {
  const auto found = std::find(sizes.begin(), sizes.end(), T{0});
  return found == sizes.end() ? -1 : found - sizes.begin();
}

/// True if sizes differ by more than this factor.
template <class T>
bool differ(const std::vector<T>& sizes, double factor) {
  const auto [least, largest] = std::minmax_element(sizes.begin(), sizes.end());
  return static_cast<double>(*least) < static_cast<double>(*largest) / factor;
}
template <class T>
bool uneven(const std::vector<T>& sizes) {
  return differ(sizes, 10);
}

template <class T>
bool extreme(const std::vector<T>& sizes) {
  constexpr T small = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  const T largest = *std::max_element(sizes.begin(), sizes.end());
  return largest < small || largest > 1 / small;
}

template <class T>
Array<T> balancing_scales(const Device& device, const std::vector<T>& sizes) {
  Array<T> scales(device, static_cast<std::int64_t>(sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i)
    scales.data()[i] = balancing_scale<T>(static_cast<double>(sizes[i]));
  return scales;
}

/// Scales as `scale_by` does, but column by column: without a division for each element.
template <class B, class T>
void scale_columns(B& backend, const Scales<T>& scales, DenseView<T> A) {
  backend.parallel(A.rows() * A.columns() > min_parallel_elements, [&](int part, int parts) {
    for (std::int64_t j = A.columns() * part / parts; j < A.columns() * (part + 1) / parts; ++j) {
      T* const a = A.column(j);
      const T column = scales.columns.size() > 0 ? scales.columns.data()[j] : T{1};
      for (std::int64_t i = 0; i < A.rows(); ++i) {
        a[i] = scales.rows.size() > 0 ? a[i] * scales.rows.data()[i] * column : a[i] * column;
      }
    }
  });
}

/// Scales rows, and then columns, where their sizes differ; both together where they differ so widely that
/// the order matters. Returns the new sizes.
template <class B, class T>
LineMagnitudes<T> equilibrate(B& backend, DenseView<T> A, LineMagnitudes<T> lines, Scales<T>& scales) {
  if (differ(lines.rows, order_matters) || differ(lines.columns, order_matters)) {
    scales = {Array<T>(A.device(), A.rows()), Array<T>(A.device(), A.columns())};
    find_line_scales<B, T>(backend, A, scales.rows.data(), scales.columns.data());
    scale_by<B, T>(backend, scales, A);
    return inspect<B, T>(backend, A, nullptr);
  }
  if (uneven(lines.rows) || extreme(lines.rows)) {
    scales.rows = balancing_scales(A.device(), lines.rows);
    lines = inspect<B, T>(backend, A, scales.rows.data());
  }
  if (uneven(lines.columns)) scales.columns = balancing_scales(A.device(), lines.columns);
  if (!scales.empty()) scale_columns<B, T>(backend, scales, A);
  return scales.columns.size() > 0 ? inspect<B, T>(backend, A, nullptr) : std::move(lines);
}

template <class B, class T>
ScaledNorms scale_on(B& backend, DenseView<T> A, bool equilibrated, Scales<T>& scales) {
  scales = {};
  LineMagnitudes<T> lines = inspect<B, T>(backend, A, nullptr);
  ScaledNorms norms;
  norms.zero_row = first_zero(lines.rows);
  norms.zero_column = first_zero(lines.columns);
  if (norms.zero_row >= 0 || norms.zero_column >= 0) return norms;
  if (equilibrated) lines = equilibrate(backend, A, std::move(lines), scales);
  norms.one = *std::max_element(lines.column_sums.begin(), lines.column_sums.end());
  norms.largest = static_cast<double>(*std::max_element(lines.columns.begin(), lines.columns.end()));
  return norms;
}

}  // namespace

template <class T>
ScaledNorms scale(Host& backend, DenseView<T> A, bool equilibrated, Scales<T>& scales) {
  return scale_on(backend, A, equilibrated, scales);
}

template ScaledNorms scale(Host&, DenseView<float>, bool, Scales<float>&);
template ScaledNorms scale(Host&, DenseView<double>, bool, Scales<double>&);

}  // namespace echelon::lu

// SPDX-License-Identifier: BSD-3-Clause
/// Scaling of a square matrix before LU, and its norms: declared for every backend.
#pragma once

#include "backend/backend.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon {
class Serial;
class OpenMp;
class Cuda;
}  // namespace echelon

namespace echelon::lu {

/// Factors of rows and columns, in the backend's memory; empty: 1.
template <class T>
struct Scales {
  [[nodiscard]] std::size_t bytes() const { return rows.bytes() + columns.bytes(); }
  Array<T> rows, columns;
};

/// Norms of the scaled matrix, and the first line of zeros, from 0; negative: none.
struct ScaledNorms {
  double one = 0;      ///< the largest sum of magnitudes of a column
  double largest = 0;  ///< the largest magnitude
  std::int64_t zero_row = -1;
  std::int64_t zero_column = -1;
};

/// Scales rows, then columns, of a finite A to largest magnitudes of about 1, by powers of two, if
/// `equilibrated` and where LAPACK's geequ and laqge would: magnitudes differ by more than ten times, or are
/// near the ends of T's range. A line of zeros ends the work. Waits.
template <class T>
ScaledNorms scale(Serial& backend, DenseView<T> A, bool equilibrated, Scales<T>& scales);
template <class T>
ScaledNorms scale(OpenMp& backend, DenseView<T> A, bool equilibrated, Scales<T>& scales);
template <class T>
ScaledNorms scale(Cuda& backend, DenseView<T> A, bool equilibrated, Scales<T>& scales);

/// Scales to(i, j) = from(i, j) rows[i] columns[j] for column-major views and element i + j m; null: 1.
template <class T>
struct CopyScaled {
  DenseView<const T> from;
  const T* rows;
  const T* columns;
  DenseView<T> to;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t j = e / from.rows();
    const std::int64_t i = e - j * from.rows();
    T value = from.data()[i + j * from.leading()];
    if (rows != nullptr) value *= rows[i];
    if (columns != nullptr) value *= columns[j];
    to.data()[i + j * to.leading()] = value;
  }
};

/// Queues A = R A C with the scales as diagonals.
template <class B, class T>
void scale_by(B& backend, const Scales<T>& scales, DenseView<T> A) {
  if (scales.rows.size() == 0 && scales.columns.size() == 0) return;
  const auto pointer = [](const Array<T>& array) { return array.size() > 0 ? array.data() : nullptr; };
  backend.for_each(A.rows() * A.columns(),
                   CopyScaled<T>{A, pointer(scales.rows), pointer(scales.columns), A});
}

}  // namespace echelon::lu

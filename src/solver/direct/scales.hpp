// SPDX-License-Identifier: BSD-3-Clause
/// Diagonal scalings of a matrix and of vectors.
#pragma once

#include "backend/backend.hpp"
#include "linalg/balancing_scale.hpp"
#include "linalg/vector/functors.hpp"
#include "support/scalar.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace echelon {

/// Diagonals R and C of a scaled matrix R A C, in the backend's memory; empty: 1.
template <class T>
struct Scales {
  [[nodiscard]] bool empty() const { return rows.size() == 0 && columns.size() == 0; }
  [[nodiscard]] std::size_t bytes() const { return rows.bytes() + columns.bytes(); }
  Array<T> rows, columns;
};

/// Ratio of the largest to the smallest factor other than zero; 1 without factors.
template <class Number>
[[nodiscard]] double spread_of(const std::vector<Number>& factors) {
  double smallest = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (const Number factor : factors) {
    const double size = magnitude(factor);
    if (size == 0) continue;
    smallest = std::min(smallest, size);
    largest = std::max(largest, size);
  }
  return largest > 0 ? largest / smallest : 1;
}

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
    const T value = from.data()[i + j * from.leading()];
    to.data()[i + j * to.leading()] =
        scale_element(value, rows == nullptr ? T{1} : rows[i], columns == nullptr ? T{1} : columns[j]);
  }
};

/// Queues A = R A C for a column-major A.
template <class B, class T>
void scale_by(B& backend, const Scales<T>& scales, DenseView<T> A) {
  if (scales.empty()) return;
  const auto pointer = [](const Array<T>& array) { return array.size() > 0 ? array.data() : nullptr; };
  backend.for_each(A.rows() * A.columns(),
                   CopyScaled<T>{A, pointer(scales.rows), pointer(scales.columns), A});
}

/// Queues X = S V for the diagonal S, an empty one being the identity; X may be V. One launch on a GPU.
template <class B, class T>
void scale_rows(B& backend, const Array<T>& scale, DenseView<const T> V, DenseView<T> X) {
  const bool in_place = V.data() == X.data();
  if (scale.size() == 0 && in_place) return;
  if constexpr (!B::on_host) {
    const T* const factors = scale.size() > 0 ? scale.data() : nullptr;
    backend.for_each(X.rows() * X.columns(), CopyScaled<T>{V, factors, nullptr, X});
  } else {
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      if (scale.size() == 0) {
        backend.copy(X.rows(), V.column(j), X.column(j));
      } else {
        backend.for_each(X.rows(), ScaleVector<T>{scale.data(), V.column(j), X.column(j)});
      }
    }
  }
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Storage of incomplete factors: two triangles on the pattern of A.
#pragma once

#include "backend/backend.hpp"
#include "backend/lower_bound.hpp"
#include "backend/store.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace echelon::incomplete {

/// Re x, in its precision.
template <class T>
ECHELON_ANYWHERE Real<T> real_part(T x) {
  if constexpr (is_complex<T>) {
    return x.real();
  } else {
    return x;
  }
}

/// Factors L and U of an n-by-n matrix, both with their diagonal: the last element of each row of `lower`,
/// the first of each row of `upper`. Triangular solves are sweeps over them.
template <class T>
struct Triangles {
  Csr<T> lower;
  Csr<T> upper;
  [[nodiscard]] std::int64_t rows() const { return lower.rows(); }
  [[nodiscard]] std::size_t bytes() const { return lower.bytes() + upper.bytes(); }
};

/// Pointers to the arrays of the triangles, for loop bodies.
template <class T>
struct TriangleRows {
  const std::int64_t* lower_offsets;
  const std::int32_t* lower_columns;
  T* lower_values;
  const std::int64_t* upper_offsets;
  const std::int32_t* upper_columns;
  T* upper_values;

  explicit TriangleRows(Triangles<T>& triangles)
      : lower_offsets(triangles.lower.row_offsets().data()),
        lower_columns(triangles.lower.column_indices().data()),
        lower_values(triangles.lower.values().data()),
        upper_offsets(triangles.upper.row_offsets().data()),
        upper_columns(triangles.upper.column_indices().data()),
        upper_values(triangles.upper.values().data()) {}

  /// Position of row i's diagonal element in `lower`.
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t lower_diagonal(std::int64_t i) const {
    return lower_offsets[i + 1] - 1;
  }
  /// Position of row i's diagonal element in `upper`.
  [[nodiscard]] ECHELON_ANYWHERE std::int64_t upper_diagonal(std::int64_t i) const {
    return upper_offsets[i];
  }
};

/// Both elements of a row's diagonal.
template <class T>
struct Diagonals {
  T lower;
  T upper;
};
/// Copies them from the backend's memory. Waits.
template <class B, class T>
Diagonals<T> read_diagonals(B& backend, const Triangles<T>& triangles, std::int64_t row) {
  const std::int64_t lower = backend.read(triangles.lower.row_offsets().data() + row + 1) - 1;
  const std::int64_t upper = backend.read(triangles.upper.row_offsets().data() + row);
  return {backend.read(triangles.lower.values().data() + lower),
          backend.read(triangles.upper.values().data() + upper)};
}

/// Counts the elements of row i in each triangle; reports the row if its diagonal element is not stored.
struct CountTriangles {
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  std::int64_t* lower_counts;
  std::int64_t* upper_counts;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    const std::int64_t end = row_offsets[i + 1];
    const std::int64_t diagonal = lower_bound(column_indices, row_offsets[i], end, i);
    lower_counts[i] = diagonal + 1 - row_offsets[i];
    upper_counts[i] = end - diagonal;
    return {diagonal < end && column_indices[diagonal] == i ? FirstIndex::none : i};
  }
};

/// Copies the columns of row i, whose diagonal element is stored.
struct CopyColumns {
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  const std::int64_t* lower_offsets;
  const std::int64_t* upper_offsets;
  std::int32_t* lower_columns;
  std::int32_t* upper_columns;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int32_t* source = column_indices + row_offsets[i];
    for (std::int64_t k = lower_offsets[i]; k < lower_offsets[i + 1]; ++k) {
      lower_columns[k] = *source++;
    }
    --source;  // the diagonal element belongs to both
    for (std::int64_t k = upper_offsets[i]; k < upper_offsets[i + 1]; ++k) {
      upper_columns[k] = *source++;
    }
  }
};

/// Makes the triangles of a square A, without values, unless a diagonal element is not stored: then returns
/// the first such row. Waits.
template <class B, class T>
FirstIndex split(B& backend, const Csr<T>& A, Triangles<T>& triangles) {
  const Device& device = backend.device();
  const std::int64_t n = A.rows();
  Array<std::int64_t> lower_offsets(device, n + 1);
  Array<std::int64_t> upper_offsets(device, n + 1);
  Array<FirstIndex> missing(device, 1);
  backend.reduce(n,
                 CountTriangles{A.row_offsets().data(), A.column_indices().data(), lower_offsets.data(),
                                upper_offsets.data()},
                 Store<FirstIndex>{missing.data()});
  const FirstIndex found = backend.read(missing.data());
  if (found.value != FirstIndex::none) return found;
  const std::int64_t lower = backend.exclusive_scan(n, lower_offsets.data(), lower_offsets.data());
  const std::int64_t upper = backend.exclusive_scan(n, upper_offsets.data(), upper_offsets.data());
  Array<std::int32_t> lower_columns(device, lower);
  Array<std::int32_t> upper_columns(device, upper);
  backend.for_each(n, CopyColumns{A.row_offsets().data(), A.column_indices().data(), lower_offsets.data(),
                                  upper_offsets.data(), lower_columns.data(), upper_columns.data()});
  triangles.lower =
      Csr<T>::unchecked(n, n, std::move(lower_offsets), std::move(lower_columns), Array<T>(device, lower));
  triangles.upper =
      Csr<T>::unchecked(n, n, std::move(upper_offsets), std::move(upper_columns), Array<T>(device, upper));
  return {};
}

/// Copies row i of A, which has the pattern of the triangles, with its diagonal element times
/// `diagonal_factor` in both.
template <class T>
struct LoadRow {
  const std::int64_t* row_offsets;
  const T* values;
  Real<T> diagonal_factor;
  TriangleRows<T> triangles;

  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t lower = triangles.lower_diagonal(i);
    const std::int64_t upper = triangles.upper_diagonal(i);
    const T* source = values + row_offsets[i];
    for (std::int64_t k = triangles.lower_offsets[i]; k < lower; ++k) {
      triangles.lower_values[k] = *source++;
    }
    for (std::int64_t k = upper; k < triangles.upper_offsets[i + 1]; ++k) {
      triangles.upper_values[k] = *source++;
    }
    triangles.upper_values[upper] = diagonal_factor * triangles.upper_values[upper];
    triangles.lower_values[lower] = triangles.upper_values[upper];
  }
};

/// Copies the values of A, which has the pattern of the triangles.
template <class B, class T>
void load_values(B& backend, const Csr<T>& A, Real<T> diagonal_factor, Triangles<T>& triangles) {
  backend.for_each(A.rows(), LoadRow<T>{A.row_offsets().data(), A.values().data(), diagonal_factor,
                                        TriangleRows<T>(triangles)});
}

}  // namespace echelon::incomplete

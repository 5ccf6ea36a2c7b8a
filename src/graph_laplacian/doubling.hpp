// SPDX-License-Identifier: BSD-3-Clause
/// Gremban's doubling: a matrix without positive off-diagonal elements for one with them.
#pragma once

#include "backend/backend.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <utility>

namespace echelon::graph_laplacian {

/// Counts the elements of row i of the doubled matrix, or writes them.
template <class T>
struct DoubledRow {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  std::int64_t n;
  std::int64_t* row_offsets;
  std::int32_t* row_columns;
  T* row_values;

  /// Writes the crossing elements of row i of A (positive off-diagonal, negated) or all others, with columns
  /// increased by `shift`, from `place` on. Returns the end. Only counts if `row_columns` is null.
  ECHELON_ANYWHERE std::int64_t put(std::int64_t i, bool crossing, std::int32_t shift,
                                    std::int64_t place) const {
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const bool crosses = columns[k] != i && values[k] > T{0};
      if (crosses != crossing || values[k] == T{0}) continue;
      if (row_columns != nullptr) {
        row_columns[place] = columns[k] + shift;
        row_values[place] = crosses ? -values[k] : values[k];
      }
      ++place;
    }
    return place;
  }
  ECHELON_ANYWHERE void operator()(std::int64_t row) const {
    const bool second = row >= n;
    const std::int64_t i = second ? row - n : row;
    const auto shift = static_cast<std::int32_t>(n);
    const std::int64_t first = row_columns != nullptr ? row_offsets[row] : 0;
    const std::int64_t end = put(i, !second, shift, put(i, second, 0, first));
    if (row_columns == nullptr) row_offsets[row] = end;
  }
};

/// Makes the matrix of Gremban's doubling: 2 n rows, no positive off-diagonal element.
template <class B, class T>
Csr<T> doubled(B& backend, const Csr<T>& A) {
  const std::int64_t n = A.rows();
  const Device& device = backend.device();
  Array<std::int64_t> offsets(device, 2 * n + 1);
  DoubledRow<T> row{A.row_offsets().data(),
                    A.column_indices().data(),
                    A.values().data(),
                    n,
                    offsets.data(),
                    nullptr,
                    nullptr};
  backend.for_each(2 * n, row);
  const std::int64_t nonzeros = backend.exclusive_scan(2 * n, offsets.data(), offsets.data());
  Array<std::int32_t> columns(device, nonzeros);
  Array<T> values(device, nonzeros);
  row.row_columns = columns.data();
  row.row_values = values.data();
  backend.for_each(2 * n, row);
  return Csr<T>::unchecked(2 * n, 2 * n, std::move(offsets), std::move(columns), std::move(values));
}

}  // namespace echelon::graph_laplacian

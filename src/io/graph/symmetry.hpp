// SPDX-License-Identifier: BSD-3-Clause
/// Search for an element that makes a sparse matrix unsymmetric.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <optional>

namespace echelon::io {

struct AsymmetricEntry {
  std::int64_t row = 0;
  std::int64_t column = 0;
  bool missing = false;  ///< true if (column, row) is not stored, false if it has another value
};

/// Finds an element of a square host matrix whose mirror image differs or is missing. O(nonzeros) time, 8
/// bytes per row.
template <class T>
std::optional<AsymmetricEntry> find_asymmetry(const Csr<T>& matrix) {
  const Array<std::int64_t>& offsets = matrix.row_offsets();
  const Array<std::int32_t>& columns = matrix.column_indices();
  // Rows are visited in ascending order, so the mirror images in a row are met from left to right: next[j] is
  // the first element of row j whose mirror image is still to come.
  Array<std::int64_t> next = offsets;
  for (std::int64_t i = 0; i < matrix.rows(); ++i) {
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const std::int32_t j = columns[k];
      const std::int64_t mirror = next[j];
      const bool left_over = mirror < offsets[j + 1] && columns[mirror] < i;
      if (left_over) return AsymmetricEntry{j, columns[mirror], true};
      if (mirror == offsets[j + 1] || columns[mirror] != i) return AsymmetricEntry{i, j, true};
      if (matrix.values()[mirror] != matrix.values()[k]) return AsymmetricEntry{i, j, false};
      ++next[j];
    }
  }
  return std::nullopt;
}

}  // namespace echelon::io

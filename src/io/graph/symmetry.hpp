// SPDX-License-Identifier: BSD-3-Clause
/// Whether a sparse matrix is symmetric, and if not, where.
#pragma once

#include <echelon/csr.hpp>

#include <cstdint>
#include <optional>

namespace echelon::io {

struct Asymmetry {
  std::int64_t row = 0;
  std::int64_t column = 0;
  bool missing = false;  ///< (column, row) is not stored, or else has another value
};

/// An element of a square host matrix without an equal one in the mirrored place. O(nonzeros), 8 bytes a row.
template <class T>
std::optional<Asymmetry> find_asymmetry(const Csr<T>& matrix) {
  const Array<std::int64_t>& offsets = matrix.row_offsets();
  const Array<std::int32_t>& columns = matrix.column_indices();
  // Rows come in ascending order, so the mirror image of each element is the next of its row. If all have
  // one, none is left over.
  Array<std::int64_t> next = offsets;
  for (std::int64_t i = 0; i < matrix.rows(); ++i) {
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const std::int32_t j = columns[k];
      const std::int64_t mirror = next[j];
      const bool left_over = mirror < offsets[j + 1] && columns[mirror] < i;
      if (left_over) return Asymmetry{j, columns[mirror], true};
      if (mirror == offsets[j + 1] || columns[mirror] != i) return Asymmetry{i, j, true};
      if (matrix.values()[mirror] != matrix.values()[k]) return Asymmetry{i, j, false};
      ++next[j];
    }
  }
  return std::nullopt;
}

}  // namespace echelon::io

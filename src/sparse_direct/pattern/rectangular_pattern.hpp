// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <span>

namespace echelon::sparse_direct {

/// Positions of the nonzeros of a matrix of any shape, row by row. Owns nothing.
struct RectangularPattern {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::span<const std::int64_t> row_begin;  ///< rows + 1; may be empty without rows
  std::span<const std::int32_t> indices;    ///< columns of the elements of each row

  [[nodiscard]] std::span<const std::int32_t> row(std::int64_t i) const {
    return indices.subspan(static_cast<std::size_t>(row_begin[i]),
                           static_cast<std::size_t>(row_begin[i + 1] - row_begin[i]));
  }
};

/// The pattern of a matrix on the host, in place.
template <class T>
[[nodiscard]] RectangularPattern rectangular_pattern_of(const Csr<T>& a) {
  return {a.rows(), a.columns(), a.row_offsets().span(), a.column_indices().span()};
}

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
/// Sparse matrices as a list of entries: coordinate (COO) form.
#pragma once

#include <echelon/array.hpp>
#include <echelon/export.h>

#include <cstdint>

namespace echelon {

/// Sparse matrix in coordinate form: entry k adds `values[k]` in row `row_indices[k]` and column
/// `column_indices[k]`. Entries may be in any order; if a position occurs several times, its element is the
/// sum.
/// Memory: 16 (double) or 12 (float) bytes an entry.
template <class T>
class ECHELON_API Coo {
 public:
  /// Creates an empty 0-by-0 matrix.
  Coo() = default;
  /// Takes ownership of the three arrays, which are on one device and of equal length. Every index is
  /// checked, on a GPU too, where that synchronises; InvalidMatrix names the first entry out of range. Reads
  /// 8 bytes an entry. Throws InvalidMatrix, DeviceMismatch.
  Coo(std::int64_t rows, std::int64_t columns, Array<std::int32_t> row_indices,
      Array<std::int32_t> column_indices, Array<T> values);
  /// Constructor without checks, for arrays that are known to be valid.
  static Coo unchecked(std::int64_t rows, std::int64_t columns, Array<std::int32_t> row_indices,
                       Array<std::int32_t> column_indices, Array<T> values);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  /// Number of entries; duplicates count separately.
  [[nodiscard]] std::int64_t entries() const { return values_.size(); }
  [[nodiscard]] const Device& device() const { return values_.device(); }
  [[nodiscard]] std::size_t bytes() const {
    return row_indices_.bytes() + column_indices_.bytes() + values_.bytes();
  }

  [[nodiscard]] const Array<std::int32_t>& row_indices() const { return row_indices_; }
  [[nodiscard]] const Array<std::int32_t>& column_indices() const { return column_indices_; }
  [[nodiscard]] const Array<T>& values() const { return values_; }
  [[nodiscard]] Array<T>& values() { return values_; }

  /// A copy in the memory of `device`.
  [[nodiscard]] Coo to(const Device& device) const;

 private:
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  Array<std::int32_t> row_indices_;
  Array<std::int32_t> column_indices_;
  Array<T> values_;
};

extern template class Coo<float>;
extern template class Coo<double>;

}  // namespace echelon

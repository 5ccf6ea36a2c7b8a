// SPDX-License-Identifier: BSD-3-Clause
/// Sparse matrices in compressed sparse column (CSC) form.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <utility>

namespace echelon {

/// Sparse matrix in CSC form: column j holds `values[k]` in row `row_indices[k]` for k in [column_offsets[j],
/// column_offsets[j+1]). Rows ascend strictly within a column. The arrays are stored as the transpose in CSR
/// form, so algorithms for CSR apply to `transpose()` without a conversion.
/// Memory: 12 (double) or 8 (float) bytes a nonzero and 8 a column.
template <class T>
class ECHELON_API Csc {
 public:
  /// Creates an empty 0-by-0 matrix.
  Csc() = default;
  /// Takes ownership of the three arrays and checks them as Csr does. Throws InvalidMatrix (whose message
  /// refers to the transpose: its rows are the columns here), DeviceMismatch.
  Csc(std::int64_t rows, std::int64_t columns, Array<std::int64_t> column_offsets,
      Array<std::int32_t> row_indices, Array<T> values)
      : transpose_(columns, rows, std::move(column_offsets), std::move(row_indices), std::move(values)) {}
  /// Creates the matrix whose transpose is given.
  static Csc from_transpose(Csr<T> transpose) {
    Csc result;
    result.transpose_ = std::move(transpose);
    return result;
  }

  [[nodiscard]] std::int64_t rows() const { return transpose_.columns(); }
  [[nodiscard]] std::int64_t columns() const { return transpose_.rows(); }
  [[nodiscard]] std::int64_t nonzeros() const { return transpose_.nonzeros(); }
  [[nodiscard]] const Device& device() const { return transpose_.device(); }
  [[nodiscard]] std::size_t bytes() const { return transpose_.bytes(); }

  [[nodiscard]] const Array<std::int64_t>& column_offsets() const { return transpose_.row_offsets(); }
  [[nodiscard]] const Array<std::int32_t>& row_indices() const { return transpose_.column_indices(); }
  [[nodiscard]] const Array<T>& values() const { return transpose_.values(); }
  /// The values may change; the pattern may not.
  [[nodiscard]] Array<T>& values() { return transpose_.values(); }

  /// The transpose, whose rows are the columns here.
  [[nodiscard]] const Csr<T>& transpose() const& { return transpose_; }
  [[nodiscard]] Csr<T> transpose() && { return std::move(transpose_); }

  /// A copy in the memory of `device`.
  [[nodiscard]] Csc to(const Device& device) const { return from_transpose(transpose_.to(device)); }

 private:
  Csr<T> transpose_;
};

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Sparse matrices in compressed sparse row (CSR) form.
#pragma once

#include <echelon/array.hpp>
#include <echelon/export.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace echelon {

/// One stored element, rows and columns counted from 0.
template <class T>
struct ECHELON_API Triplet {
  std::int32_t row = 0;
  std::int32_t column = 0;
  T value = 0;
};

class LazyRowBlocks;
struct CsrAccess;

/// Sparse matrix in CSR form: row i holds `values[k]` in column `column_indices[k]` for k in [row_offsets[i],
/// row_offsets[i+1]). Columns ascend strictly within a row (no duplicates); stored zeros are allowed.
/// Memory: 12 (double) or 8 (float) bytes a nonzero and 8 a row.
template <class T>
class ECHELON_API Csr {
 public:
  /// Creates an empty 0-by-0 matrix.
  Csr();
  /// Takes ownership of the three arrays (on one device; row_offsets.size() == rows + 1). Host arrays are
  /// checked in O(nonzeros), and InvalidMatrix names the first offending element; for arrays on a GPU only
  /// the sizes are checked. Throws InvalidMatrix, DeviceMismatch.
  Csr(std::int64_t rows, std::int64_t columns, Array<std::int64_t> row_offsets,
      Array<std::int32_t> column_indices, Array<T> values);
  /// Constructor without checks, for arrays that are known to be valid.
  static Csr unchecked(std::int64_t rows, std::int64_t columns, Array<std::int64_t> row_offsets,
                       Array<std::int32_t> column_indices, Array<T> values);
  /// Sorts the triplets and sums duplicates in the order given, with all cores. Throws InvalidMatrix for an
  /// index out of range. O(nonzeros log(longest row)) time. Memory in addition to the result: 16 (double) or
  /// 12 (float) bytes a triplet, and a second copy of the result if there are duplicates.
  static Csr from_triplets(std::int64_t rows, std::int64_t columns, const std::vector<Triplet<T>>& triplets);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t nonzeros() const { return values_.size(); }
  [[nodiscard]] const Device& device() const { return values_.device(); }
  [[nodiscard]] std::size_t bytes() const {
    return row_offsets_.bytes() + column_indices_.bytes() + values_.bytes();
  }

  [[nodiscard]] const Array<std::int64_t>& row_offsets() const { return row_offsets_; }
  [[nodiscard]] const Array<std::int32_t>& column_indices() const { return column_indices_; }
  [[nodiscard]] const Array<T>& values() const { return values_; }
  /// The values may change; the pattern may not.
  [[nodiscard]] Array<T>& values() { return values_; }

  /// A copy in the memory of `device`.
  [[nodiscard]] Csr to(const Device& device) const;

 private:
  friend struct CsrAccess;

  void check() const;
  void prepare_row_blocks();

  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  Array<std::int64_t> row_offsets_;
  Array<std::int32_t> column_indices_;
  Array<T> values_;
  std::shared_ptr<LazyRowBlocks> row_blocks_;  // on a GPU; the pattern never changes, so neither do they
};

extern template class Csr<float>;
extern template class Csr<double>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Sparse matrices in memory that the caller owns.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace echelon {

/// A rows-by-columns matrix in CSR form whose column indices and values stay where the caller has them, on
/// the host or on a GPU: they are not copied, must not move, and must outlive the view and every solver that
/// was set up with it. Row offsets of 64 bits stay in place as well; 32-bit offsets are widened into an array
/// of rows + 1 elements that the view owns (for a GPU by way of the host, which waits).
///
/// Columns ascend strictly within a row, as in Csr. Host arrays are checked in O(nonzeros), arrays on a GPU
/// for their sizes only; `unchecked` leaves the checks out. The caller may change values between solves, and
/// says so with Solver::update_values.
///
/// Copies of a view refer to the same memory. `csr()` is accepted wherever a Csr is.
template <class T>
class ECHELON_API CsrView {
 public:
  /// View of host arrays: rows + 1 offsets, and a column index and a value for each nonzero. Throws
  /// InvalidMatrix.
  CsrView(std::int64_t rows, std::int64_t columns, std::span<const std::int64_t> row_offsets,
          std::span<const std::int32_t> column_indices, std::span<const T> values);
  CsrView(std::int64_t rows, std::int64_t columns, std::span<const std::int32_t> row_offsets,
          std::span<const std::int32_t> column_indices, std::span<const T> values);
  /// View of arrays in the memory of `device`.
  CsrView(const Device& device, std::int64_t rows, std::int64_t columns, std::int64_t nonzeros,
          const std::int64_t* row_offsets, const std::int32_t* column_indices, const T* values);
  CsrView(const Device& device, std::int64_t rows, std::int64_t columns, std::int64_t nonzeros,
          const std::int32_t* row_offsets, const std::int32_t* column_indices, const T* values);
  /// View without checks of arrays in the memory of `device` that are known to be valid.
  [[nodiscard]] static CsrView unchecked(const Device& device, std::int64_t rows, std::int64_t columns,
                                         std::int64_t nonzeros, const std::int64_t* row_offsets,
                                         const std::int32_t* column_indices, const T* values);
  [[nodiscard]] static CsrView unchecked(const Device& device, std::int64_t rows, std::int64_t columns,
                                         std::int64_t nonzeros, const std::int32_t* row_offsets,
                                         const std::int32_t* column_indices, const T* values);

  [[nodiscard]] std::int64_t rows() const { return csr_->rows(); }
  [[nodiscard]] std::int64_t columns() const { return csr_->columns(); }
  [[nodiscard]] std::int64_t nonzeros() const { return csr_->nonzeros(); }
  [[nodiscard]] const Device& device() const { return csr_->device(); }
  /// The matrix in this memory; valid as long as the view or a copy of the view exists.
  [[nodiscard]] const Csr<T>& csr() const { return *csr_; }

 private:
  explicit CsrView(Csr<T> csr) : csr_(std::make_shared<const Csr<T>>(std::move(csr))) {}

  std::shared_ptr<const Csr<T>> csr_;
};

extern template class CsrView<float>;
extern template class CsrView<double>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Sums of sparse matrices, C = alpha A + beta B, in one call or in two phases: the pattern of C once, its
/// values as often as those of A and B change.
///
/// C stores every position that A or B stores, whatever the values: A - A consists of stored zeros, and alpha
/// = 0 keeps the positions of A, with NaN where A has NaN or infinity. Columns ascend within a row.
/// c_ij is alpha a_ij, beta b_ij, or the sum of the two, each rounded by itself: the same bits on every
/// device (as long as the host's compiler fuses no multiplications with additions).
///
/// Everything runs on the device of A. DimensionMismatch names shapes that differ, and DeviceMismatch
/// operands in different memories. OutOfMemory gives the requested size and leaves all objects unchanged.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon {

/// C = alpha A + beta B for one pair of patterns.
template <class T>
class ECHELON_API SparseSum {
 public:
  /// Determines the pattern of C: reads the columns of A and B twice. Synchronises, to learn the size of C.
  SparseSum(const Csr<T>& A, const Csr<T>& B);

  /// C as a new matrix. A and B must have the patterns that the constructor saw.
  [[nodiscard]] Csr<T> compute(T alpha, const Csr<T>& A, T beta, const Csr<T>& B) const;
  /// Overwrites the values of C, which has the pattern that `compute` gave it. Reads A, B and the pattern
  /// once and writes the values once; neither allocates nor waits for a GPU. If A and B have other patterns
  /// of the same size, the host throws InvalidMatrix (the values of C are then unspecified), and a GPU writes
  /// NaN to the elements concerned.
  void update(T alpha, const Csr<T>& A, T beta, const Csr<T>& B, Csr<T>& C) const;

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  /// Nonzeros of C.
  [[nodiscard]] std::int64_t nonzeros() const { return column_indices_.size(); }
  /// Memory held, in bytes: the pattern of C, 4 bytes a nonzero and 8 a row.
  [[nodiscard]] std::size_t bytes() const { return row_offsets_.bytes() + column_indices_.bytes(); }

 private:
  void check(const Csr<T>& A, const Csr<T>& B) const;

  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t nonzeros_of_A_ = 0;
  std::int64_t nonzeros_of_B_ = 0;
  Array<std::int64_t> row_offsets_;
  Array<std::int32_t> column_indices_;
};

/// C = alpha A + beta B in a single call. Synchronises.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> add(T alpha, const Csr<T>& A, T beta, const Csr<T>& B);

extern template class SparseSum<float>;
extern template class SparseSum<double>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Products of sparse matrices, C = A B and C = R A P, in one call or in two phases: the pattern of C once,
/// its values as often as those of the factors change.
///
/// The pattern of C is what the patterns of the factors give, whatever their values: a sum that happens to be
/// zero stays stored, and a stored zero times infinity is NaN. Columns ascend within a row.
/// c_ij = a_ik b_kj is summed in ascending k, in T, products rounded before they are added; R A P is (R A) P.
/// Hence the same bits come out on `serial`, on any number of OpenMP threads and, as long as the host's
/// compiler fuses no multiplications with additions (it does not on x86-64 unless told to), on a GPU.
///
/// Everything runs on the device of the first factor. DimensionMismatch names shapes that do not fit,
/// DeviceMismatch factors in different memories; OutOfMemory says what was asked for, and nothing has changed
/// then.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace echelon {

template <class T>
class ProductPlan;

/// Base of products in two phases.
template <class T>
class PlannedProduct {
 public:
  [[nodiscard]] std::int64_t rows() const;
  [[nodiscard]] std::int64_t columns() const;
  /// Nonzeros of C.
  [[nodiscard]] std::int64_t nonzeros() const;
  /// Bytes that the object holds: the pattern of C, 4 bytes a nonzero and 8 a row; on a GPU 4 more a row, and
  /// of a triple product R A.
  [[nodiscard]] std::size_t bytes() const;

 protected:
  explicit PlannedProduct(std::unique_ptr<ProductPlan<T>> plan);
  PlannedProduct(PlannedProduct&&) noexcept;
  PlannedProduct& operator=(PlannedProduct&&) noexcept;
  ~PlannedProduct();

  std::unique_ptr<ProductPlan<T>> plan_;
};

/// C = A B for one pair of patterns.
template <class T>
class SparseProduct : public PlannedProduct<T> {
 public:
  /// Finds the pattern of C: a pass that counts, one that fills in, each going through all products a_ik
  /// b_kj. On the host each thread takes sizeof(T) bytes and a bit for every column that it meets; on a GPU 5
  /// bytes a row are taken besides what the object keeps. Synchronises, for the sizes of what is allocated.
  SparseProduct(const Csr<T>& A, const Csr<T>& B);

  /// C = A B as a new matrix. A and B must have the patterns that the constructor saw.
  [[nodiscard]] Csr<T> compute(const Csr<T>& A, const Csr<T>& B);
  /// Overwrites the values of C, which has the pattern that `compute` gave it. Allocates nothing on a GPU and
  /// does not wait for it. Other patterns of the same size are found out on the host where they have
  /// columns that C has not (InvalidMatrix; the values of C are then unspecified); on a GPU they make NaN in
  /// the rows concerned.
  void update(const Csr<T>& A, const Csr<T>& B, Csr<T>& C);
};

/// C = R A P for one triple of patterns, R A first. On the host rows of R A are made and used one at a time,
/// so that the memory is that of the result; on a GPU the object keeps R A.
template <class T>
class TripleProduct : public PlannedProduct<T> {
 public:
  /// See SparseProduct.
  TripleProduct(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P);

  /// C = R A P as a new matrix. The factors must have the patterns that the constructor saw.
  [[nodiscard]] Csr<T> compute(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P);
  /// Overwrites the values of C; see SparseProduct::update.
  void update(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P, Csr<T>& C);
};

/// A B, for once: the rows are counted, then filled with columns and values together. Synchronises.
template <class T>
[[nodiscard]] Csr<T> multiply(const Csr<T>& A, const Csr<T>& B);
/// R A P, for once. Synchronises.
template <class T>
[[nodiscard]] Csr<T> multiply(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P);

extern template class PlannedProduct<float>;
extern template class PlannedProduct<double>;
extern template class SparseProduct<float>;
extern template class SparseProduct<double>;
extern template class TripleProduct<float>;
extern template class TripleProduct<double>;

}  // namespace echelon

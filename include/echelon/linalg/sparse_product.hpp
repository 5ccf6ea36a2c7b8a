// SPDX-License-Identifier: BSD-3-Clause
/// Products of sparse matrices, C = A B and C = R A P, in one call or in two phases: the pattern of C once,
/// its values as often as those of the factors change.
///
/// The pattern of C depends on the patterns of the factors only, not on their values: a sum that happens to
/// be zero stays stored, and a stored zero times infinity is NaN. Columns ascend within a row.
/// c_ij = a_ik b_kj is summed in ascending k, in T, products rounded before they are added; R A P is (R A) P.
/// Hence the same bits come out on `serial`, on any number of OpenMP threads and, as long as the host's
/// compiler fuses no multiplications with additions (it does not on x86-64 unless told to), on a GPU.
///
/// Everything runs on the device of the first factor. DimensionMismatch names shapes that do not fit, and
/// DeviceMismatch factors in different memories. OutOfMemory gives the requested size and leaves all objects
/// unchanged.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace echelon {

template <class T>
class ProductPlan;

/// Choices for products in two phases.
struct ECHELON_API ProductOptions {
  /// Stores on a GPU where the operands of each product a_ik b_kj are, for faster updates: 2 bytes a product,
  /// 2 a nonzero of C, 4 a nonzero of A and a little, or nothing if that is more than a quarter of the memory
  /// available. Rows of C with more than 2048 elements, and those that involve a row of B with more than 256
  /// or more than 49,152 / l elements of A are updated without, l the length of the longest row of B that
  /// has at most 256 elements, rounded up to a power of 2. The host stores none.
  bool store_positions = true;
};

/// Base of products in two phases.
template <class T>
class ECHELON_API PlannedProduct {
 public:
  [[nodiscard]] std::int64_t rows() const;
  [[nodiscard]] std::int64_t columns() const;
  /// Nonzeros of C.
  [[nodiscard]] std::int64_t nonzeros() const;
  /// Memory held, in bytes: the pattern of C, 4 bytes a nonzero and 8 a row; on a GPU 4 more a row, positions
  /// if they are stored, and for a triple product also R A.
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
class ECHELON_API SparseProduct : public PlannedProduct<T> {
 public:
  /// Determines the pattern of C in two passes over all products a_ik b_kj: one counts, the other fills in.
  /// On the host each thread takes sizeof(T) bytes and a bit for every column that occurs; on a GPU the
  /// construction takes 5 bytes a row in addition to what the object keeps. Synchronises, to learn the sizes
  /// of what is allocated.
  SparseProduct(const Csr<T>& A, const Csr<T>& B, const ProductOptions& options = {});

  /// C = A B as a new matrix. A and B must have the patterns that the constructor saw.
  [[nodiscard]] Csr<T> compute(const Csr<T>& A, const Csr<T>& B);
  /// Overwrites the values of C, which has the pattern that `compute` gave it. On a GPU it neither allocates
  /// nor waits. If the factors have other patterns of the same size, the host throws InvalidMatrix for
  /// columns that C lacks (the values of C are then unspecified), and a GPU writes NaN in the rows concerned,
  /// or in all rows whose positions are stored.
  void update(const Csr<T>& A, const Csr<T>& B, Csr<T>& C);
};

/// C = R A P for one triple of patterns, R A first. The host forms and uses the rows of R A one at a time, so
/// that memory is needed for the result only; on a GPU the object keeps R A.
template <class T>
class ECHELON_API TripleProduct : public PlannedProduct<T> {
 public:
  /// Determines the pattern of C; see SparseProduct.
  TripleProduct(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P, const ProductOptions& options = {});

  /// C = R A P as a new matrix. The factors must have the patterns that the constructor saw.
  [[nodiscard]] Csr<T> compute(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P);
  /// Overwrites the values of C; see SparseProduct::update.
  void update(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P, Csr<T>& C);
};

/// C = A B in a single call: rows are counted, then columns and values are filled in together. Synchronises.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> multiply(const Csr<T>& A, const Csr<T>& B);
/// C = R A P in a single call. Synchronises.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> multiply(const Csr<T>& R, const Csr<T>& A, const Csr<T>& P);

extern template class PlannedProduct<float>;
extern template class PlannedProduct<double>;
extern template class SparseProduct<float>;
extern template class SparseProduct<double>;
extern template class TripleProduct<float>;
extern template class TripleProduct<double>;

}  // namespace echelon

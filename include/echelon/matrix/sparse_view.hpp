// SPDX-License-Identifier: BSD-3-Clause
/// Sparse matrices in the caller's arrays, in every usual layout.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <memory>

namespace echelon {

/// An array of 32-bit or 64-bit integers that the caller owns.
class ECHELON_API IndexArray {
 public:
  IndexArray() = default;
  IndexArray(const std::int32_t* data) : narrow_(data) {}  // NOLINT(google-explicit-constructor)
  IndexArray(const std::int64_t* data) : wide_(data) {}    // NOLINT(google-explicit-constructor)

  /// The elements, if they have 32 (64) bits; otherwise null.
  [[nodiscard]] const std::int32_t* narrow() const { return narrow_; }
  [[nodiscard]] const std::int64_t* wide() const { return wide_; }

 private:
  const std::int32_t* narrow_ = nullptr;
  const std::int64_t* wide_ = nullptr;
};

enum class SparseLayout {
  csr,  ///< offsets of the rows, and a column index for each element
  csc,  ///< offsets of the columns, and a row index for each element
  coo,  ///< a row index and a column index for each element, in any order
};

/// Which elements of a matrix its arrays hold.
enum class StoredElements {
  all,
  lower,  ///< those of a symmetric matrix on and below the diagonal
  upper,  ///< those of a symmetric matrix on and above the diagonal
};

/// The pattern of a rows-by-columns matrix in arrays that the caller owns. Indices within a row or a column
/// may be in any order; elements of one position are summed.
struct ECHELON_API SparsePattern {
  SparseLayout layout = SparseLayout::csr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nonzeros = 0;  ///< stored elements
  IndexArray offsets_or_rows =
      {};                   ///< rows + 1 (csr) or columns + 1 (csc) offsets; nonzeros row indices (coo)
  IndexArray indices = {};  ///< nonzeros column indices (csr, coo) or row indices (csc)
  std::int32_t base = 0;    ///< the number of the first row, column and element: 0 or 1
  StoredElements stored = StoredElements::all;
  /// States that A = A^T, whose csc arrays are then used as csr arrays. Not checked.
  bool symmetric = false;
};

template <class T>
struct SparseViewState;

/// A matrix in the caller's arrays as a Csr. Arrays in csr layout with 32-bit column indices that ascend
/// within rows, numbered from 0 and with all elements stored, stay in place, as in CsrView; so do csc arrays
/// of this kind of a matrix that is stated to be symmetric. The caller keeps them as long as the view exists.
/// All others are converted once: the view then owns a copy of the matrix (12 bytes per nonzero in double)
/// and the source of each of its elements (8 bytes per nonzero, and 8 more if elements of one position are
/// summed), by which update_values() takes new values in one pass.
///
/// Arrays in the memory of a GPU are converted by way of the host, and their values on the GPU.
///
/// Copies of a view refer to the same matrix. `csr()` is accepted wherever a Csr is.
template <class T>
class ECHELON_API SparseView {
 public:
  /// Throws InvalidMatrix, which names the first element that is out of range, or on the other side of the
  /// diagonal than `stored` says; OutOfMemory. O(nonzeros + rows + columns), and a sort of rows whose indices
  /// do not ascend.
  SparseView(const SparsePattern& pattern, const T* values) : SparseView(Device(), pattern, values) {}
  /// View of arrays in the memory of `device`.
  SparseView(const Device& device, const SparsePattern& pattern, const T* values);

  [[nodiscard]] const Csr<T>& csr() const;
  /// Whether the arrays are used where the caller has them.
  [[nodiscard]] bool is_in_place() const;
  /// Takes new values for the same pattern, in the order of the caller's arrays; on a GPU queued without
  /// waiting. A solver that was set up with the view then needs Solver::update_values(view). `values` may be
  /// the array given before, with other elements. Throws InvalidMatrix for a null pointer.
  void update_values(const T* values);
  /// State of the view and its copies, for MatrixRef.
  [[nodiscard]] const SparseViewState<T>* state() const { return state_.get(); }

 private:
  std::shared_ptr<SparseViewState<T>> state_;
};

extern template class SparseView<float>;
extern template class SparseView<double>;

}  // namespace echelon

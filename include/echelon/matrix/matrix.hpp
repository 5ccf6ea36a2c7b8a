// SPDX-License-Identifier: BSD-3-Clause
/// Matrices that a solver accepts as `A`, and conversion between their forms.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/coo.hpp>
#include <echelon/matrix/csc.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/csr_view.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/linear_operator.hpp>
#include <echelon/matrix/sparse_view.hpp>
#include <echelon/matrix/stencil.hpp>

#include <cstdint>
#include <variant>

namespace echelon {

/// A matrix in whichever form it came.
template <class T>
using Matrix = std::variant<Dense<T>, Csr<T>>;

namespace matrix_detail {
/// Throws Error: an operator, or a stencil, is known by its products.
[[noreturn]] ECHELON_API void throw_no_elements(bool is_stencil);
}  // namespace matrix_detail

/// Reference to a dense or a sparse matrix, to an operator or to a stencil, which it does not own and which
/// must outlive it. Converts implicitly from each of these types.
template <class T>
class ECHELON_API MatrixRef {
 public:
  MatrixRef() = default;
  MatrixRef(const Csr<T>& matrix) : csr_(&matrix) {}            // NOLINT(google-explicit-constructor)
  MatrixRef(const CsrView<T>& matrix) : csr_(&matrix.csr()) {}  // NOLINT(google-explicit-constructor)
  // NOLINTNEXTLINE(google-explicit-constructor)
  MatrixRef(const SparseView<T>& matrix) : csr_(&matrix.csr()), view_(matrix.state()) {}
  /// A matrix with the pattern of a view, for whose arrays it has other values.
  MatrixRef(const Csr<T>& matrix, const SparseViewState<T>* view) : csr_(&matrix), view_(view) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  MatrixRef(const LinearOperator<T>& linear_operator) : operator_(&linear_operator) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  MatrixRef(const Stencil<T>& stencil) : operator_(&stencil.linear_operator()), stencil_(&stencil) {}
  MatrixRef(const Dense<T>& matrix) : dense_(matrix.view()) {}  // NOLINT(google-explicit-constructor)
  MatrixRef(DenseView<const T> matrix) : dense_(matrix) {}      // NOLINT(google-explicit-constructor)
  MatrixRef(DenseView<T> matrix) : dense_(matrix) {}            // NOLINT(google-explicit-constructor)
  MatrixRef(const Matrix<T>& matrix) {                          // NOLINT(google-explicit-constructor)
    std::visit([this](const auto& held) { *this = MatrixRef(held); }, matrix);
  }

  /// The sparse matrix, or null when it is dense or an operator.
  [[nodiscard]] const Csr<T>* csr() const { return csr_; }
  /// State of the view whose arrays have the values of a sparse matrix; null if the matrix has its own.
  [[nodiscard]] const SparseViewState<T>* sparse_view() const { return view_; }
  /// The dense matrix; meaningless when it is sparse. Throws Error for an operator and a stencil: they have
  /// no elements.
  [[nodiscard]] const DenseView<const T>& dense() const {
    if (operator_ != nullptr) matrix_detail::throw_no_elements(is_stencil());
    return dense_;
  }
  /// The operator, also that of a stencil, or null when it is a matrix with elements.
  [[nodiscard]] const LinearOperator<T>* linear_operator() const { return operator_; }
  /// The stencil, or null.
  [[nodiscard]] const Stencil<T>* stencil() const { return stencil_; }
  [[nodiscard]] bool is_sparse() const { return csr_ != nullptr; }
  /// Whether the matrix is known by its products: an operator or a stencil.
  [[nodiscard]] bool is_operator() const { return operator_ != nullptr; }
  [[nodiscard]] bool is_stencil() const { return stencil_ != nullptr; }

  [[nodiscard]] std::int64_t rows() const {
    return csr_ != nullptr ? csr_->rows() : operator_ != nullptr ? operator_->rows() : dense_.rows();
  }
  [[nodiscard]] std::int64_t columns() const {
    return csr_ != nullptr ? csr_->columns() : operator_ != nullptr ? operator_->columns() : dense_.columns();
  }
  /// Stored elements: all of them for a dense matrix, none for an operator or a stencil.
  [[nodiscard]] std::int64_t nonzeros() const {
    return csr_ != nullptr ? csr_->nonzeros() : operator_ != nullptr ? 0 : dense_.rows() * dense_.columns();
  }
  [[nodiscard]] const Device& device() const {
    return csr_ != nullptr ? csr_->device() : operator_ != nullptr ? operator_->device() : dense_.device();
  }

 private:
  const Csr<T>* csr_ = nullptr;
  const SparseViewState<T>* view_ = nullptr;
  const LinearOperator<T>* operator_ = nullptr;
  const Stencil<T>* stencil_ = nullptr;
  DenseView<const T> dense_;
};

// Conversions. Each works on the device of its argument and leaves the result there; on a GPU it queues the
// work and does not wait, unless it says that it synchronises, to learn how much memory the result takes.
// Stored zeros stay stored from one sparse form to another, and are dropped from a dense one.

/// Stores all elements, zeros included, column-major. Takes rows * columns * sizeof(T) bytes; throws
/// OutOfMemory when memory does not suffice.
template <class T>
[[nodiscard]] ECHELON_API Dense<T> to_dense(MatrixRef<T> matrix);
/// Converts by way of a Csr: duplicate entries are summed in the order given. Synchronises.
template <class T>
[[nodiscard]] ECHELON_API Dense<T> to_dense(const Coo<T>& matrix);
/// Converts by way of a Csr.
template <class T>
[[nodiscard]] ECHELON_API Dense<T> to_dense(const Csc<T>& matrix);

/// Keeps the elements that differ from zero (NaN does). Synchronises. Throws InvalidMatrix when there are
/// more columns than a 32-bit index counts.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> to_csr(MatrixRef<T> matrix);
/// Sums duplicate entries in the order given, with the same result on every device and on every run.
/// Synchronises. Time: a few passes over the entries and a sort within each row; a GPU copies entries that
/// are sorted by rows and columns, and transposes those that are sorted by columns and rows. Memory: all
/// entries as matrix elements and 4 more bytes each (serial, cuda: 16 or 12), and on a GPU the summed
/// elements once more.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> to_csr(const Coo<T>& matrix);
/// A transposition, see transform.hpp.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> to_csr(const Csc<T>& matrix);

/// The elements row by row, columns ascending. Throws InvalidMatrix when there are more rows than a 32-bit
/// index counts.
template <class T>
[[nodiscard]] ECHELON_API Coo<T> to_coo(const Csr<T>& matrix);
/// The elements column by column, rows ascending.
template <class T>
[[nodiscard]] ECHELON_API Coo<T> to_coo(const Csc<T>& matrix);
/// A dense matrix's elements that differ from zero, row by row. Synchronises.
template <class T>
[[nodiscard]] ECHELON_API Coo<T> to_coo(MatrixRef<T> matrix);

/// A transposition. Throws InvalidMatrix when there are more rows than a 32-bit index counts.
template <class T>
[[nodiscard]] ECHELON_API Csc<T> to_csc(const Csr<T>& matrix);
/// Sums duplicate entries in the order given. Synchronises. Cost: that of to_csr.
template <class T>
[[nodiscard]] ECHELON_API Csc<T> to_csc(const Coo<T>& matrix);
/// A dense matrix's elements that differ from zero. Synchronises.
template <class T>
[[nodiscard]] ECHELON_API Csc<T> to_csc(MatrixRef<T> matrix);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// What a solver accepts as `A`, and conversion between the forms.
#pragma once

#include <echelon/csr.hpp>
#include <echelon/dense.hpp>

#include <cstdint>
#include <variant>

namespace echelon {

/// A matrix in whichever form it came.
template <class T>
using Matrix = std::variant<Dense<T>, Csr<T>>;

/// Refers to a dense or a sparse matrix without owning it; made implicitly from either. What it refers to
/// must outlive it.
template <class T>
class MatrixRef {
 public:
  MatrixRef() = default;
  MatrixRef(const Csr<T>& matrix) : csr_(&matrix) {}            // NOLINT(google-explicit-constructor)
  MatrixRef(const Dense<T>& matrix) : dense_(matrix.view()) {}  // NOLINT(google-explicit-constructor)
  MatrixRef(DenseView<const T> matrix) : dense_(matrix) {}      // NOLINT(google-explicit-constructor)
  MatrixRef(DenseView<T> matrix) : dense_(matrix) {}            // NOLINT(google-explicit-constructor)
  MatrixRef(const Matrix<T>& matrix) {                          // NOLINT(google-explicit-constructor)
    std::visit([this](const auto& held) { *this = MatrixRef(held); }, matrix);
  }

  /// The sparse matrix, or null when it is dense.
  [[nodiscard]] const Csr<T>* csr() const { return csr_; }
  /// The dense matrix; meaningless when it is sparse.
  [[nodiscard]] const DenseView<const T>& dense() const { return dense_; }
  [[nodiscard]] bool is_sparse() const { return csr_ != nullptr; }

  [[nodiscard]] std::int64_t rows() const { return csr_ != nullptr ? csr_->rows() : dense_.rows; }
  [[nodiscard]] std::int64_t columns() const { return csr_ != nullptr ? csr_->columns() : dense_.columns; }
  /// Stored elements: all of them for a dense matrix.
  [[nodiscard]] std::int64_t nonzeros() const {
    return csr_ != nullptr ? csr_->nonzeros() : dense_.rows * dense_.columns;
  }
  [[nodiscard]] const Device& device() const { return csr_ != nullptr ? csr_->device() : dense_.device; }

 private:
  const Csr<T>* csr_ = nullptr;
  DenseView<const T> dense_;
};

/// All elements, zeros included, column-major, on the matrix's device. rows * columns * sizeof(T) bytes;
/// throws OutOfMemory when they are not to be had. Done on return, on a GPU too.
template <class T>
[[nodiscard]] Dense<T> to_dense(MatrixRef<T> matrix);
/// The elements that differ from zero (NaN does), on the matrix's device. Throws InvalidMatrix when there are
/// more columns than a 32-bit index counts.
template <class T>
[[nodiscard]] Csr<T> to_csr(MatrixRef<T> matrix);

}  // namespace echelon

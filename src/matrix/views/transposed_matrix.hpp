// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/matrix/transform.hpp>

#include <cstddef>
#include <optional>

namespace echelon {

/// The transpose of a matrix: a copy of a sparse one, a view of a dense one, and the transposed operator
/// or stencil.
template <class T>
class TransposedMatrix {
 public:
  TransposedMatrix() = default;
  TransposedMatrix(const TransposedMatrix&) = delete;
  TransposedMatrix& operator=(const TransposedMatrix&) = delete;

  /// Transposes A, which is referred to if it is dense, unless `sparse`. Throws Error for an operator without
  /// a transposed product.
  void form(const MatrixRef<T>& A, bool sparse = false) {
    csr_ = Csr<T>();
    if (A.is_stencil()) {
      if constexpr (!is_complex<T>) matrix_ = stencil_.emplace(A.stencil()->transposed());
    } else if (A.is_operator()) {
      matrix_ = operator_.emplace(A.linear_operator()->transposed());
    } else if (A.is_sparse() || sparse) {
      csr_ = A.is_sparse() ? transpose(*A.csr()) : transpose(to_csr(A));
      matrix_ = csr_;
    } else {
      const DenseView<const T>& dense = A.dense();
      const Layout layout = dense.layout() == Layout::row_major ? Layout::column_major : Layout::row_major;
      matrix_ = DenseView<const T>(dense.data(), dense.columns(), dense.rows(), dense.leading(),
                                   dense.device(), layout);
    }
  }
  [[nodiscard]] const MatrixRef<T>& matrix() const { return matrix_; }
  [[nodiscard]] std::size_t bytes() const { return csr_.bytes(); }

 private:
  Csr<T> csr_;
  std::optional<LinearOperator<T>> operator_;
  std::optional<Stencil<T>> stencil_;
  MatrixRef<T> matrix_;
};

}  // namespace echelon

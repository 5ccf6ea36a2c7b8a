// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/matrix.hpp>

namespace echelon {

/// A matrix in host memory: the matrix itself, or a copy if it is on a GPU.
template <class T>
class HostCopy {
 public:
  explicit HostCopy(const MatrixRef<T>& a) : matrix_(a) {
    if (a.device().on_host()) return;
    if (a.is_sparse()) {
      csr_ = a.csr()->to(Device());
      matrix_ = csr_;
    } else {
      copy_window(a.dense());
    }
  }
  HostCopy(const HostCopy&) = delete;
  HostCopy& operator=(const HostCopy&) = delete;

  [[nodiscard]] const MatrixRef<T>& matrix() const { return matrix_; }

 private:
  /// Copies the gaps between rows or columns as well: a packed copy would need memory on the GPU.
  void copy_window(DenseView<const T> a) {
    const bool by_column = a.layout() == Layout::column_major;
    const std::int64_t lines = by_column ? a.columns() : a.rows();
    const std::int64_t length = by_column ? a.rows() : a.columns();
    elements_ = Array<T>(Device(), lines > 0 && length > 0 ? (lines - 1) * a.leading() + length : 0);
    memory_detail::copy(Device(), elements_.data(), a.device(), a.data(), elements_.bytes());
    matrix_ = DenseView<const T>(elements_.data(), a.rows(), a.columns(), a.leading(), Device(), a.layout());
  }

  MatrixRef<T> matrix_;
  Csr<T> csr_;
  Array<T> elements_;
};

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Access to a matrix from the host.
#pragma once

#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <optional>

namespace echelon::io {

/// Refers to `matrix` if it is in host memory, otherwise to a copy of its own.
template <class T>
class HostMatrix {
 public:
  explicit HostMatrix(MatrixRef<T> matrix) : csr_(matrix.csr()), dense_(matrix.dense()) {
    if (matrix.device().on_host()) return;
    if (csr_ != nullptr) {
      csr_ = &csr_copy_.emplace(csr_->to(Device()));
    } else {
      dense_copy_ = Array<T>(Device(), extent(dense_));
      memory_detail::copy(Device(), dense_copy_.data(), dense_.device(), dense_.data(), dense_copy_.bytes());
      dense_ = DenseView<const T>(dense_copy_.data(), dense_.rows(), dense_.columns(), dense_.leading(),
                                  Device(), dense_.layout());
    }
  }
  HostMatrix(const HostMatrix&) = delete;
  HostMatrix& operator=(const HostMatrix&) = delete;
  ~HostMatrix() = default;

  /// Null for a dense matrix.
  [[nodiscard]] const Csr<T>* csr() const { return csr_; }
  [[nodiscard]] const DenseView<const T>& dense() const { return dense_; }

 private:
  /// Number of elements from the first to the last of the view, including the gaps between its columns or
  /// rows.
  static std::int64_t extent(const DenseView<const T>& view) {
    const bool by_column = view.layout() == Layout::column_major;
    const std::int64_t lines = by_column ? view.columns() : view.rows();
    const std::int64_t length = by_column ? view.rows() : view.columns();
    return lines == 0 || length == 0 ? 0 : (lines - 1) * view.leading() + length;
  }

  const Csr<T>* csr_;
  DenseView<const T> dense_;
  std::optional<Csr<T>> csr_copy_;
  Array<T> dense_copy_;
};

}  // namespace echelon::io

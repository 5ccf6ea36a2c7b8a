// SPDX-License-Identifier: BSD-3-Clause
/// Matrices that are known by their product with a vector only.
#pragma once

#include <echelon/device.hpp>
#include <echelon/error.hpp>
#include <echelon/export.h>
#include <echelon/matrix/dense.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

namespace echelon {

/// A user's own y = A x, for a rows-by-columns A. The Krylov methods (cg, minres, bicgstab, gmres) solve with
/// it; methods that need A's elements throw Error and name those that do not.
///
/// `apply(x, y)` reads `columns` elements at x and writes `rows` elements at y, both in the memory of
/// `device` and not overlapping. On a GPU it queues its work on the calling thread's stream
/// (cudaStreamPerThread) and need not wait. It has to be linear, and the same from call to call. It is called
/// from the thread that calls `setup` or `solve`: from several at once when the solver is used so.
///
/// An operator of of_columns() multiplies several vectors in one call. `cg` and `cocg` then iterate on up to
/// eight right-hand sides together; other methods give it one vector at a time.
///
/// The operator must outlive the solvers that were set up with it.
template <class T>
class ECHELON_API LinearOperator {
 public:
  using Apply = std::function<void(const T* x, T* y)>;
  /// Y = A X for column-major X (columns by k) and Y (rows by k), k >= 1, under the conditions of Apply.
  using ApplyToColumns = std::function<void(DenseView<const T> X, DenseView<T> Y)>;

  LinearOperator(std::int64_t rows, std::int64_t columns, Apply apply, const Device& device = {})
      : LinearOperator(rows, columns, std::move(apply), Apply(), device) {}
  /// With the product y = A^T x, `apply_transposed(x, y)`, which reads `rows` elements and writes `columns`:
  /// solves with the transpose need it.
  LinearOperator(std::int64_t rows, std::int64_t columns, Apply apply, Apply apply_transposed,
                 const Device& device = {})
      : LinearOperator(rows, columns, Product{std::move(apply), {}}, Product{std::move(apply_transposed), {}},
                       device) {}
  /// An operator by its products Y = A X and, if it is given, Y = A^T X with several vectors.
  [[nodiscard]] static LinearOperator of_columns(std::int64_t rows, std::int64_t columns,
                                                 ApplyToColumns apply, ApplyToColumns apply_transposed = {},
                                                 const Device& device = {}) {
    return {rows, columns, Product{{}, std::move(apply)}, Product{{}, std::move(apply_transposed)}, device};
  }

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] const Device& device() const { return device_; }
  /// Whether one call multiplies several vectors.
  [[nodiscard]] bool takes_columns() const { return static_cast<bool>(product_.several); }
  /// y = A x.
  void apply(const T* x, T* y) const { apply(one_column(x, columns_), one_column(y, rows_)); }
  /// Y = A X for column-major X and Y, in one call if takes_columns().
  void apply(DenseView<const T> X, DenseView<T> Y) const { product_(X, Y); }
  [[nodiscard]] bool has_transpose() const { return transposed_.exists(); }
  /// y = A^T x, if has_transpose().
  void apply_transposed(const T* x, T* y) const {
    apply_transposed(one_column(x, rows_), one_column(y, columns_));
  }
  /// Y = A^T X for column-major X and Y, if has_transpose().
  void apply_transposed(DenseView<const T> X, DenseView<T> Y) const { transposed_(X, Y); }
  /// The operator A^T. Throws Error without has_transpose().
  [[nodiscard]] LinearOperator transposed() const {
    if (!has_transpose()) throw Error("the linear operator has no product with its transpose");
    return {columns_, rows_, transposed_, product_, device_};
  }

 private:
  /// A product by one of two functions, or none.
  struct Product {
    Apply one;
    ApplyToColumns several;
    [[nodiscard]] bool exists() const { return one || several; }
    void operator()(DenseView<const T> X, DenseView<T> Y) const {
      if (several) return several(X, Y);
      for (std::int64_t j = 0; j < X.columns(); ++j) one(X.column(j), Y.column(j));
    }
  };

  LinearOperator(std::int64_t rows, std::int64_t columns, Product product, Product transposed,
                 const Device& device)
      : rows_(rows),
        columns_(columns),
        product_(std::move(product)),
        transposed_(std::move(transposed)),
        device_(device) {}

  template <class V>
  [[nodiscard]] DenseView<V> one_column(V* vector, std::int64_t size) const {
    return {vector, size, 1, std::max<std::int64_t>(size, 1), device_};
  }

  std::int64_t rows_;
  std::int64_t columns_;
  Product product_;
  Product transposed_;
  Device device_;
};

}  // namespace echelon

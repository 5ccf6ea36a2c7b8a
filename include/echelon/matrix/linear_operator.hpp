// SPDX-License-Identifier: BSD-3-Clause
/// Matrices that are known by their product with a vector only.
#pragma once

#include <echelon/device.hpp>
#include <echelon/error.hpp>
#include <echelon/export.h>

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
/// The operator must outlive the solvers that were set up with it.
template <class T>
class ECHELON_API LinearOperator {
 public:
  using Apply = std::function<void(const T* x, T* y)>;

  LinearOperator(std::int64_t rows, std::int64_t columns, Apply apply, const Device& device = {})
      : rows_(rows), columns_(columns), apply_(std::move(apply)), device_(device) {}
  /// With the product y = A^T x, `apply_transposed(x, y)`, which reads `rows` elements and writes `columns`:
  /// solves with the transpose need it.
  LinearOperator(std::int64_t rows, std::int64_t columns, Apply apply, Apply apply_transposed,
                 const Device& device = {})
      : rows_(rows),
        columns_(columns),
        apply_(std::move(apply)),
        apply_transposed_(std::move(apply_transposed)),
        device_(device) {}

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] const Device& device() const { return device_; }
  /// y = A x.
  void apply(const T* x, T* y) const { apply_(x, y); }
  [[nodiscard]] bool has_transpose() const { return static_cast<bool>(apply_transposed_); }
  /// y = A^T x, if has_transpose().
  void apply_transposed(const T* x, T* y) const { apply_transposed_(x, y); }
  /// The operator A^T. Throws Error without has_transpose().
  [[nodiscard]] LinearOperator transposed() const {
    if (!has_transpose()) throw Error("the linear operator has no product with its transpose");
    return {columns_, rows_, apply_transposed_, apply_, device_};
  }

 private:
  std::int64_t rows_;
  std::int64_t columns_;
  Apply apply_;
  Apply apply_transposed_;
  Device device_;
};

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Matrices of the C interface.
#pragma once

#include "c/call.hpp"

#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/matrix/stencil.hpp>

#include <utility>
#include <variant>

namespace echelon::c {

/// A matrix in whichever form the caller gave it, at one place as long as solvers refer to it.
template <class T>
class HeldMatrix {
 public:
  template <class Form>
  explicit HeldMatrix(Form form) : form_(std::move(form)) {}
  HeldMatrix(const HeldMatrix&) = delete;
  HeldMatrix& operator=(const HeldMatrix&) = delete;

  [[nodiscard]] MatrixRef<T> ref() const {
    return std::visit([](const auto& form) { return MatrixRef<T>(form); }, form_);
  }

  /// The matrix if it is sparse and its elements have the order of the caller's array of values, or the array
  /// is that of a file; null otherwise.
  [[nodiscard]] const Csr<T>* csr_in_order() const {
    if (const auto* const view = std::get_if<SparseView<T>>(&form_))
      return view->is_in_place() ? &view->csr() : nullptr;
    return ref().csr();
  }

  /// Takes new values, in the order of the caller's arrays.
  void update_values(const T* values) {
    if (auto* const sparse = std::get_if<SparseView<T>>(&form_)) {
      sparse->update_values(values);
    } else if (auto* const dense = std::get_if<DenseView<const T>>(&form_)) {
      *dense = {values, dense->rows(), dense->columns(), dense->leading(), dense->device(), dense->layout()};
    } else {
      throw Refusal(ECHELON_BAD_ARGUMENT,
                    "A is an operator or a stencil, or comes from a file: it has no array of values");
    }
  }

 private:
  std::variant<SparseView<T>, DenseView<const T>, LinearOperator<T>, Stencil<T>, Matrix<T>> form_;
};

/// The caller's product as a function of the library.
template <class T>
[[nodiscard]] auto product_function(echelon_product product, void* user) {
  return [product, user](const T* x, T* y) {
    if (product(user, x, y) != 0)
      throw Refusal(ECHELON_CALLBACK_FAILED, "a product of the caller has failed");
  };
}

}  // namespace echelon::c

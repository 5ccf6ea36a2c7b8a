// SPDX-License-Identifier: BSD-3-Clause
/// Contents of the public class Stencil.
#pragma once

#include "matrix/stencil/stencil_matrix.hpp"
#include "matrix/stencil/stencil_sums.hpp"

#include <echelon/matrix/matrix.hpp>

#include <memory>
#include <mutex>
#include <utility>

namespace echelon {

template <class T>
struct StencilState {
  StencilState(StencilMatrix<T> A, const StencilSums& of_rows) : matrix(std::move(A)), sums(of_rows) {}
  StencilMatrix<T> matrix;
  StencilSums sums;
  mutable std::mutex transposing;
  mutable std::shared_ptr<const StencilState> transpose;  ///< made by the first product with A^T
};

struct StencilAccess {
  template <class T>
  [[nodiscard]] static const StencilState<T>& state(const Stencil<T>& stencil) {
    return *stencil.state_;
  }
  template <class T>
  [[nodiscard]] static Stencil<T> make(std::shared_ptr<const StencilState<T>> state) {
    return Stencil<T>(std::move(state));
  }
};

/// The stencil with the coefficients of a matrix. Waits.
template <class T>
[[nodiscard]] Stencil<T> to_stencil(StencilMatrix<T> A);

/// The coefficients of an A that is a stencil; null for another one.
template <class T>
[[nodiscard]] const StencilMatrix<T>* stencil_matrix_of(const MatrixRef<T>& A) {
  return A.is_stencil() ? &StencilAccess::state(*A.stencil()).matrix : nullptr;
}

}  // namespace echelon

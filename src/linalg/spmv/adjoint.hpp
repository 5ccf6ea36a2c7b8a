// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "linalg/spmv/multiply.hpp"

#include <echelon/matrix/scalar.hpp>

namespace echelon {

/// y = alpha V^H x + beta y, for column-major V of complex numbers.
template <class T>
void multiply_conjugate_transposed(Host& backend, T alpha, const DenseView<const T>& V, const T* x, T beta,
                                   T* y);
template <class T>
void multiply_conjugate_transposed(Cuda& backend, T alpha, const DenseView<const T>& V, const T* x, T beta,
                                   T* y);

/// y = alpha V^H x + beta y, for column-major V.
template <class B, class T>
void multiply_adjoint(B& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y) {
  if constexpr (is_complex<T>) {
    multiply_conjugate_transposed(backend, alpha, V, x, beta, y);
  } else {
    multiply_transposed(backend, alpha, V, x, beta, y);
  }
}

}  // namespace echelon

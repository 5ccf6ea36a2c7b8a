// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "linalg/spmv/multiply.hpp"

#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>

namespace echelon {

/// R = B - A X for column-major views.
template <class B, class T>
void form_residual(B& backend, const MatrixRef<T>& A, DenseView<const T> right, DenseView<const T> X,
                   DenseView<T> R) {
  for (std::int64_t j = 0; j < X.columns(); ++j) backend.copy(R.rows(), right.column(j), R.column(j));
  if (X.columns() > 1 && !A.is_sparse()) {
    gemm<T>(backend, T{-1}, A.dense(), X, T{1}, R);
  } else {
    for (std::int64_t j = 0; j < X.columns(); ++j) {
      multiply(backend, T{-1}, A, X.column(j), T{1}, R.column(j));
    }
  }
}

}  // namespace echelon

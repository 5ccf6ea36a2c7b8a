// SPDX-License-Identifier: BSD-3-Clause
/// The operations of <echelon/linalg.hpp>, arguments checked, per side.
#pragma once

#include <echelon/matrix.hpp>

namespace echelon {

template <class Side, class T>
void multiply_on(T alpha, const MatrixRef<T>& A, DenseView<const T> X, T beta, DenseView<T> Y);
template <class Side, class T>
void axpy_on(T alpha, DenseView<const T> x, DenseView<T> y);
template <class Side, class T>
[[nodiscard]] double dot_on(DenseView<const T> x, DenseView<const T> y);

}  // namespace echelon

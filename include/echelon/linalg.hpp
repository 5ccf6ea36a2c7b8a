// SPDX-License-Identifier: BSD-3-Clause
/// Operations on vectors and matrices. Each runs on the device of its first matrix operand (or first vector)
/// and throws DeviceMismatch, naming both, when another operand lives in a different memory, and
/// DimensionMismatch, naming both shapes, when the sizes do not fit.
#pragma once

#include <echelon/matrix.hpp>

namespace echelon {

/// Y = alpha A X + beta Y, column by column; beta = 0 does not read Y. On a GPU the call returns before the
/// work is done; later calls of the same thread see its result.
/// Bytes moved a column: the matrix once, X and Y once (and Y again unless beta = 0).
template <class T>
void multiply(T alpha, MatrixRef<T> A, DenseView<const T> X, T beta, DenseView<T> Y);

/// Sum of x_i y_i over a single column each, accumulated in double. Serial and OpenMP results have the same
/// bits for any number of threads; a GPU's are the same on every run of the same device. Synchronises.
template <class T>
[[nodiscard]] double dot(DenseView<const T> x, DenseView<const T> y);
/// sqrt(dot(x, x)); neither overflows nor underflows in float, nor in double for norms in [1e-150, 1e150].
template <class T>
[[nodiscard]] double norm2(DenseView<const T> x);
/// max over rows of the sum of |a_ij|, which for a single column is max |x_i|; NaN if there is one.
/// Synchronises.
template <class T>
[[nodiscard]] double norm_inf(MatrixRef<T> A);
/// y = y + alpha x.
template <class T>
void axpy(T alpha, DenseView<const T> x, DenseView<T> y);

}  // namespace echelon

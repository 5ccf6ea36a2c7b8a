// SPDX-License-Identifier: BSD-3-Clause
/// The operations of <echelon/linalg.hpp> for checked arguments, per compilation target.
#pragma once

#include <echelon/context.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cstdint>

namespace echelon {

template <class Target, class T>
void multiply_on(Context& context, T alpha, const MatrixRef<T>& A, DenseView<const T> X, T beta,
                 DenseView<T> Y);
template <class Target, class T>
void multiply_transposed_on(Context& context, T alpha, const Csr<T>& A, DenseView<const T> X, T beta,
                            DenseView<T> Y);
template <class Target, class T>
void gemm_on(Context& context, T alpha, DenseView<const T> A, DenseView<const T> B, T beta, DenseView<T> C);
template <class Target, class T>
void add_on(Context& context, T alpha, DenseView<const T> A, T beta, DenseView<const T> B, DenseView<T> C);

/// Y = conj(X), element by element. Y may be X.
template <class Target, class T>
void conjugate_on(Context& context, DenseView<const T> X, DenseView<T> Y);

enum class VectorNorm { norm1, norm2, norm_inf };

template <class Target, class T>
void dot_on(Context& context, DenseView<const T> x, DenseView<const T> y, Dot<T>* result);
template <class Target, class T>
void sum_on(Context& context, DenseView<const T> x, Dot<T>* result);
template <class Target, class T>
void norm_on(Context& context, VectorNorm norm, DenseView<const T> x, double* result);
/// Memory of the context for a result, and its value once the queued work is done. read_on() synchronises.
template <class Target, class T>
[[nodiscard]] Dot<T>* result_on(Context& context);
template <class Target, class T>
[[nodiscard]] Dot<T> read_on(Context& context, const Dot<T>* result);

}  // namespace echelon

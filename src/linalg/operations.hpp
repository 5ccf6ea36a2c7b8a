// SPDX-License-Identifier: BSD-3-Clause
/// The operations of <echelon/linalg.hpp> for checked arguments, per compilation target.
#pragma once

#include <echelon/context.hpp>
#include <echelon/matrix/matrix.hpp>

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

enum class VectorReduction { sum, norm1, norm2, norm_inf };

template <class Target, class T>
void dot_on(Context& context, DenseView<const T> x, DenseView<const T> y, double* result);
template <class Target, class T>
void reduce_on(Context& context, VectorReduction reduction, DenseView<const T> x, double* result);
/// Memory of the context for a result, and its value once the queued work is done. read_on() synchronises.
template <class Target>
[[nodiscard]] double* result_on(Context& context);
template <class Target>
[[nodiscard]] double read_on(Context& context, const double* result);

}  // namespace echelon

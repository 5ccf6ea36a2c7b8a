// SPDX-License-Identifier: BSD-3-Clause
/// Matrix-vector and matrix-matrix products, one native version per backend.
#pragma once

#include "linalg/blas/gemm.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/matrix.hpp>

#include <cstdint>

namespace echelon {

/// y = alpha A x + beta y; for a user's operator only with alpha = 1 and beta = 0. x has A.columns()
/// elements, y has A.rows(), and they do not overlap; with beta = 0 y is not read. Sums are computed in T.
/// Memory movement of CSR: 4 + sizeof(T) bytes per nonzero, 8 per row, and the vectors.
template <class T>
void multiply(Host& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y);
template <class T>
void multiply(Cuda& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y);
template <class T>
void multiply(OpenCl& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y);

/// A x by the user's operator, for alpha = 1 and beta = 0: its product cannot be scaled.
template <class T>
void apply_operator(const LinearOperator<T>& A, T alpha, const T* x, T beta, T* y) {
  if (alpha != T{1} || beta != T{0})
    throw Error("a linear operator computes y = A x only, without alpha and beta");
  A.apply(x, y);
}

/// y = alpha V^T x + beta y, for column-major V.
template <class T>
void multiply_transposed(Host& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y);
template <class T>
void multiply_transposed(Cuda& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y);
template <class T>
void multiply_transposed(OpenCl& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y);

/// Y = alpha A X + beta Y for any number of columns in either layout. Each column has the same bits as the
/// product with that column alone. A is read once per eight columns with CUDA, per sixteen on the host, and
/// per column with OpenCL.
template <class T>
void multiply_several(Host& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta, DenseView<T> Y);
template <class T>
void multiply_several(Cuda& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta, DenseView<T> Y);
template <class T>
void multiply_several(OpenCl& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta,
                      DenseView<T> Y);

/// Y = alpha A^T X + beta Y, column by column. Sums do not depend on timing or the number of threads.
/// With OpenCL each call transposes A.
template <class T>
void multiply_transposed(Host& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta,
                         DenseView<T> Y);
template <class T>
void multiply_transposed(Cuda& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta,
                         DenseView<T> Y);
template <class T>
void multiply_transposed(OpenCl& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta,
                         DenseView<T> Y);

}  // namespace echelon

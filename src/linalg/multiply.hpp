// SPDX-License-Identifier: BSD-3-Clause
/// Matrix-vector products on raw device vectors, one native version per backend.
#pragma once

#include <echelon/matrix.hpp>

#include <cstdint>

namespace echelon {

class Serial;
class OpenMp;
class Cuda;

/// y = alpha A x + beta y. x has A.columns() elements, y has A.rows(), and they do not overlap; beta = 0 does
/// not read y. Sums run along the row, in T. CSR moves (4 + sizeof T) bytes a nonzero, 8 a row, and the
/// vectors.
template <class T>
void multiply(Serial& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y);
template <class T>
void multiply(OpenMp& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y);
template <class T>
void multiply(Cuda& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y);

/// y = alpha V^T x + beta y, for column-major V.
template <class T>
void multiply_transposed(Serial& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y);
template <class T>
void multiply_transposed(OpenMp& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y);
template <class T>
void multiply_transposed(Cuda& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y);

}  // namespace echelon

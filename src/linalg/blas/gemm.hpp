// SPDX-License-Identifier: BSD-3-Clause
/// Products of dense matrices, one native version per backend.
#pragma once

#include <echelon/matrix/dense.hpp>

namespace echelon {

class Host;
class Cuda;
class OpenCl;

/// C = alpha A B + beta C, by BLAS, and with OpenCL by tiles of 8 by 8 elements.
template <class T>
void gemm(Host& backend, T alpha, DenseView<const T> A, DenseView<const T> B, T beta, DenseView<T> C);
template <class T>
void gemm(Cuda& backend, T alpha, DenseView<const T> A, DenseView<const T> B, T beta, DenseView<T> C);
template <class T>
void gemm(OpenCl& backend, T alpha, DenseView<const T> A, DenseView<const T> B, T beta, DenseView<T> C);

}  // namespace echelon

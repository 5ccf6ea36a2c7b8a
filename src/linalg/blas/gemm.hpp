// SPDX-License-Identifier: BSD-3-Clause
/// Products of dense matrices, one native version per backend.
#pragma once

#include <echelon/matrix/dense.hpp>

namespace echelon {

class Host;
class Cuda;

/// C = alpha A B + beta C, by BLAS.
template <class T>
void gemm(Host& backend, T alpha, DenseView<const T> A, DenseView<const T> B, T beta, DenseView<T> C);
template <class T>
void gemm(Cuda& backend, T alpha, DenseView<const T> A, DenseView<const T> B, T beta, DenseView<T> C);

}  // namespace echelon

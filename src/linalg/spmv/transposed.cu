// SPDX-License-Identifier: BSD-3-Clause
// The transpose of a sparse matrix times vectors on a GPU.
#include "backend/cuda/cuda.cuh"
#include "linalg/spmv/multiply.hpp"

#include <echelon/matrix/transform.hpp>

namespace echelon {

template <class T>
void multiply_transposed(Cuda& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta,
                         DenseView<T> Y) {
  multiply_several(backend, alpha, transpose(A), X, beta, Y);
}

template void multiply_transposed(Cuda&, float, const Csr<float>&, DenseView<const float>, float,
                                  DenseView<float>);
template void multiply_transposed(Cuda&, double, const Csr<double>&, DenseView<const double>, double,
                                  DenseView<double>);

}  // namespace echelon

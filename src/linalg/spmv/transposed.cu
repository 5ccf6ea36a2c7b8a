// SPDX-License-Identifier: BSD-3-Clause
// The transpose of a sparse matrix times vectors on a GPU.
#include "backend/cuda/cuda.cuh"
#include "linalg/spmv/multiply.hpp"

#include <echelon/matrix/transform.hpp>

#include <support/scalar_list.hpp>

namespace echelon {

template <class T>
void multiply_transposed(Cuda& backend, T alpha, const Csr<T>& A, DenseView<const T> X, T beta,
                         DenseView<T> Y) {
  multiply_several(backend, alpha, transpose(A), X, beta, Y);
}

#define ECHELON_INSTANTIATE(T) \
  template void multiply_transposed(Cuda&, T, const Csr<T>&, DenseView<const T>, T, DenseView<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

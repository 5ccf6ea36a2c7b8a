// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/libraries.cuh"
#include "linalg/spmv/multiply.hpp"
#include "linalg/spmv/row_products.hpp"
#include "matrix/stencil/stencil_product.hpp"
#include "matrix/stencil/stencil_state.hpp"

namespace echelon {

namespace {

using namespace row_sums;

/// y = alpha A x + beta y.
template <class T>
struct FusedPutProduct {
  T alpha;
  T beta;
  T* y;
  __device__ void operator()(std::int64_t i, T sum) const { put(alpha, sum, beta, y + i); }
};

template <class T>
void multiply_sparse(Cuda& backend, T alpha, const Csr<T>& A, const T* x, T beta, T* y) {
  if (A.nonzeros() == 0) {
    backend.for_each(A.rows(), Scale<T>{beta, y});
    return;
  }
  for_row_products(backend, A, x, FusedPutProduct<T>{alpha, beta, y});
}

cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t operation, std::int64_t rows,
                    std::int64_t columns, float alpha, const float* a, std::int64_t leading, const float* x,
                    float beta, float* y) {
  return cublasSgemv_64(handle, operation, rows, columns, &alpha, a, leading, x, 1, &beta, y, 1);
}
cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t operation, std::int64_t rows,
                    std::int64_t columns, double alpha, const double* a, std::int64_t leading,
                    const double* x, double beta, double* y) {
  return cublasDgemv_64(handle, operation, rows, columns, &alpha, a, leading, x, 1, &beta, y, 1);
}

template <class T>
void multiply_dense(Cuda& backend, bool transposed, T alpha, const DenseView<const T>& A, const T* x, T beta,
                    T* y) {
  const bool by_column = A.layout() == Layout::column_major;
  if (A.rows() == 0 || A.columns() == 0) {
    backend.for_each(transposed ? A.columns() : A.rows(), Scale<T>{beta, y});
    return;
  }
  // A row-major matrix is, to BLAS, its column-major transpose.
  check(gemv(backend.blas(), transposed == by_column ? CUBLAS_OP_T : CUBLAS_OP_N,
             by_column ? A.rows() : A.columns(), by_column ? A.columns() : A.rows(), alpha, A.data(),
             A.leading(), x, beta, y));
}

}  // namespace

template <class T>
void multiply(Cuda& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y) {
  if (A.rows() == 0) return;
  const CurrentDevice current(backend.device().id());
  if (const StencilMatrix<T>* stencil = stencil_matrix_of(A)) {
    multiply_stencil(backend, *stencil, alpha, x, beta, y);
  } else if (A.is_operator()) {
    apply_operator(*A.linear_operator(), alpha, x, beta, y);
  } else if (A.is_sparse()) {
    multiply_sparse(backend, alpha, *A.csr(), x, beta, y);
  } else {
    multiply_dense(backend, false, alpha, A.dense(), x, beta, y);
  }
}

template <class T>
void multiply_transposed(Cuda& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y) {
  const CurrentDevice current(backend.device().id());
  multiply_dense(backend, true, alpha, V, x, beta, y);
}

template void multiply(Cuda&, float, const MatrixRef<float>&, const float*, float, float*);
template void multiply(Cuda&, double, const MatrixRef<double>&, const double*, double, double*);
template void multiply_transposed(Cuda&, float, const DenseView<const float>&, const float*, float, float*);
template void multiply_transposed(Cuda&, double, const DenseView<const double>&, const double*, double,
                                  double*);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/libraries.cuh"
#include "linalg/spmv/adjoint.hpp"
#include "linalg/spmv/row_products.hpp"
#include "matrix/stencil/stencil_product.hpp"
#include "matrix/stencil/stencil_state.hpp"

#include <support/scalar_list.hpp>

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
cublasStatus_t gemv(cublasHandle_t handle, cublasOperation_t operation, std::int64_t rows,
                    std::int64_t columns, Complex alpha, const Complex* a, std::int64_t leading,
                    const Complex* x, Complex beta, Complex* y) {
  const cuDoubleComplex factor = to_library(alpha);
  const cuDoubleComplex factor_of_y = to_library(beta);
  return cublasZgemv_64(handle, operation, rows, columns, &factor, to_library(a), leading, to_library(x), 1,
                        &factor_of_y, to_library(y), 1);
}

/// y = alpha op(A) x + beta y; op is the identity, the transpose or, for a column-major A, the adjoint.
template <class T>
void multiply_dense(Cuda& backend, cublasOperation_t operation, T alpha, const DenseView<const T>& A,
                    const T* x, T beta, T* y) {
  const bool transposed = operation != CUBLAS_OP_N;
  const bool by_column = A.layout() == Layout::column_major;
  if (A.rows() == 0 || A.columns() == 0) {
    backend.for_each(transposed ? A.columns() : A.rows(), Scale<T>{beta, y});
    return;
  }
  // A row-major matrix is, to BLAS, its column-major transpose.
  check(gemv(backend.blas(),
             transposed != by_column ? CUBLAS_OP_N
             : transposed            ? operation
                                     : CUBLAS_OP_T,
             by_column ? A.rows() : A.columns(), by_column ? A.columns() : A.rows(), alpha, A.data(),
             A.leading(), x, beta, y));
}

}  // namespace

template <class T>
void multiply(Cuda& backend, T alpha, const MatrixRef<T>& A, const T* x, T beta, T* y) {
  if (A.rows() == 0) return;
  const CurrentDevice current(backend.device().id());
  if (const StencilMatrix<T>* stencil = stencil_matrix_of(A)) {
    if constexpr (!is_complex<T>) multiply_stencil(backend, *stencil, alpha, x, beta, y);
  } else if (A.is_operator()) {
    apply_operator(*A.linear_operator(), alpha, x, beta, y);
  } else if (A.is_sparse()) {
    multiply_sparse(backend, alpha, *A.csr(), x, beta, y);
  } else {
    multiply_dense(backend, CUBLAS_OP_N, alpha, A.dense(), x, beta, y);
  }
}

template <class T>
void multiply_transposed(Cuda& backend, T alpha, const DenseView<const T>& V, const T* x, T beta, T* y) {
  const CurrentDevice current(backend.device().id());
  multiply_dense(backend, CUBLAS_OP_T, alpha, V, x, beta, y);
}

template <class T>
void multiply_conjugate_transposed(Cuda& backend, T alpha, const DenseView<const T>& V, const T* x, T beta,
                                   T* y) {
  const CurrentDevice current(backend.device().id());
  multiply_dense(backend, CUBLAS_OP_C, alpha, V, x, beta, y);
}

#define ECHELON_INSTANTIATE(T)                                            \
  template void multiply(Cuda&, T, const MatrixRef<T>&, const T*, T, T*); \
  template void multiply_transposed(Cuda&, T, const DenseView<const T>&, const T*, T, T*);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE
#define ECHELON_INSTANTIATE(T) \
  template void multiply_conjugate_transposed(Cuda&, T, const DenseView<const T>&, const T*, T, T*);
ECHELON_FOR_EACH_COMPLEX(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

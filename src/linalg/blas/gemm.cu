// SPDX-License-Identifier: BSD-3-Clause
// Products of dense matrices on a GPU.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/libraries.cuh"
#include "linalg/blas/gemm.hpp"

#include <support/scalar_list.hpp>

namespace echelon {

namespace {

cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t a_form, cublasOperation_t b_form,
                    std::int64_t rows, std::int64_t columns, std::int64_t terms, float alpha, const float* a,
                    std::int64_t leading_a, const float* b, std::int64_t leading_b, float beta, float* c,
                    std::int64_t leading_c) {
  return cublasSgemm_64(handle, a_form, b_form, rows, columns, terms, &alpha, a, leading_a, b, leading_b,
                        &beta, c, leading_c);
}
cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t a_form, cublasOperation_t b_form,
                    std::int64_t rows, std::int64_t columns, std::int64_t terms, double alpha,
                    const double* a, std::int64_t leading_a, const double* b, std::int64_t leading_b,
                    double beta, double* c, std::int64_t leading_c) {
  return cublasDgemm_64(handle, a_form, b_form, rows, columns, terms, &alpha, a, leading_a, b, leading_b,
                        &beta, c, leading_c);
}
cublasStatus_t gemm(cublasHandle_t handle, cublasOperation_t a_form, cublasOperation_t b_form,
                    std::int64_t rows, std::int64_t columns, std::int64_t terms, Complex alpha,
                    const Complex* a, std::int64_t leading_a, const Complex* b, std::int64_t leading_b,
                    Complex beta, Complex* c, std::int64_t leading_c) {
  const cuDoubleComplex factor = to_library(alpha);
  const cuDoubleComplex factor_of_c = to_library(beta);
  return cublasZgemm_64(handle, a_form, b_form, rows, columns, terms, &factor, to_library(a), leading_a,
                        to_library(b), leading_b, &factor_of_c, to_library(c), leading_c);
}

/// BLAS reads a row-major matrix as its column-major transpose.
template <class T>
cublasOperation_t form(const DenseView<T>& view) {
  return view.layout() == Layout::column_major ? CUBLAS_OP_N : CUBLAS_OP_T;
}

}  // namespace

template <class T>
void gemm(Cuda& backend, T alpha, DenseView<const T> A, DenseView<const T> B, T beta, DenseView<T> C) {
  if (C.layout() == Layout::row_major) {  // C^T = B^T A^T
    gemm(backend, alpha, transposed(B), transposed(A), beta, transposed(C));
    return;
  }
  if (C.rows() == 0 || C.columns() == 0) return;
  const CurrentDevice current(backend.device().id());
  check(gemm(backend.blas(), form(A), form(B), C.rows(), C.columns(), A.columns(), alpha, A.data(),
             A.leading(), B.data(), B.leading(), beta, C.data(), C.leading()));
}

#define ECHELON_INSTANTIATE(T) \
  template void gemm(Cuda&, T, DenseView<const T>, DenseView<const T>, T, DenseView<T>);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
// Products of dense matrices on a GPU.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/libraries.cuh"
#include "linalg/blas/gemm.hpp"

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

template void gemm(Cuda&, float, DenseView<const float>, DenseView<const float>, float, DenseView<float>);
template void gemm(Cuda&, double, DenseView<const double>, DenseView<const double>, double,
                   DenseView<double>);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// cuBLAS's triangular solve with many columns, overloaded for float and double.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "backend/cuda/libraries.cuh"

#include <cstdint>

namespace echelon::crout {

/// Computes X = op(A)^-1 X for a triangular A, n by n.
inline cublasStatus_t trsm(cublasHandle_t handle, cublasFillMode_t part, cublasOperation_t form,
                           cublasDiagType_t diagonal, std::int64_t n, std::int64_t columns, const float* a,
                           std::int64_t leading_a, float* x, std::int64_t leading_x) {
  const float one = 1;
  return cublasStrsm_64(handle, CUBLAS_SIDE_LEFT, part, form, diagonal, n, columns, &one, a, leading_a, x,
                        leading_x);
}
inline cublasStatus_t trsm(cublasHandle_t handle, cublasFillMode_t part, cublasOperation_t form,
                           cublasDiagType_t diagonal, std::int64_t n, std::int64_t columns, const double* a,
                           std::int64_t leading_a, double* x, std::int64_t leading_x) {
  const double one = 1;
  return cublasDtrsm_64(handle, CUBLAS_SIDE_LEFT, part, form, diagonal, n, columns, &one, a, leading_a, x,
                        leading_x);
}

}  // namespace echelon::crout

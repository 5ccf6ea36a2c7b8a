// SPDX-License-Identifier: BSD-3-Clause
// GPU version: cuBLAS in the mode that prescribes standard arithmetic.
#include "backend/cuda/cuda.cuh"
#include "backend/cuda/libraries.cuh"
#include "certification/conventional_product.hpp"
#include "linalg/blas/gemm.hpp"

namespace echelon::certification {

namespace {

/// Sets the mode of a handle for a scope.
class PedanticMath {
 public:
  explicit PedanticMath(cublasHandle_t handle) : handle_(handle) {
    check(cublasGetMathMode(handle, &before_));
    check(cublasSetMathMode(handle, CUBLAS_PEDANTIC_MATH));
  }
  PedanticMath(const PedanticMath&) = delete;
  PedanticMath& operator=(const PedanticMath&) = delete;
  ~PedanticMath() { cublasSetMathMode(handle_, before_); }

 private:
  cublasHandle_t handle_;
  cublasMath_t before_ = CUBLAS_DEFAULT_MATH;
};

}  // namespace

void subtract_conventional_product(Cuda& backend, DenseView<const double> A, DenseView<const double> B,
                                   DenseView<double> C) {
  const CurrentDevice current(backend.device().id());
  const PedanticMath pedantic(backend.blas());
  gemm<double>(backend, -1, A, B, 1, C);
}

}  // namespace echelon::certification

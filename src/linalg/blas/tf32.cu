// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/libraries.cuh"
#include "linalg/blas/tf32.cuh"

#include <cstddef>
#include <cstdint>

namespace echelon {

namespace {

/// x rounded to 11 significant bits (Dekker's splitting), which TF32 represents.
__device__ float nearest_tf32(float x) {
  const float shifted = __fmul_rn(x, 8193);  // 2^13 + 1
  return __fsub_rn(shifted, __fsub_rn(shifted, x));
}

/// x = high + low with `high` in TF32; `low` is rounded to TF32 when it is multiplied.
struct Halves {
  float high, low;
  __device__ explicit Halves(float x) : high(nearest_tf32(x)), low(nearest_tf32(x - high)) {}
};

/// The matrix (low(A) high(A) high(A)): the small products are added first.
struct SplitLeft {
  DenseView<const float> A;
  float* split;
  __device__ void operator()(std::int64_t e) const {
    const std::int64_t elements = A.rows() * A.columns();
    const Halves x(A.data()[e / A.rows() * A.leading() + e % A.rows()]);
    split[e] = x.low;
    split[e + elements] = x.high;
    split[e + 2 * elements] = x.high;
  }
};

/// The matrix of high(B), low(B) and high(B), stacked.
struct SplitRight {
  DenseView<const float> B;
  float* split;
  __device__ void operator()(std::int64_t e) const {
    const std::int64_t i = e % B.rows();
    const std::int64_t j = e / B.rows();
    const Halves x(B.data()[j * B.leading() + i]);
    float* const column = split + 3 * j * B.rows();
    column[i] = x.high;
    column[i + B.rows()] = x.low;
    column[i + 2 * B.rows()] = x.high;
  }
};

void add_rounded_product(Cuda& backend, DenseView<const float> A, DenseView<const float> B,
                         DenseView<float> C) {
  constexpr float one = 1;
  check(cublasGemmEx_64(backend.blas(), CUBLAS_OP_N, CUBLAS_OP_N, C.rows(), C.columns(), A.columns(), &one,
                        A.data(), CUDA_R_32F, A.leading(), B.data(), CUDA_R_32F, B.leading(), &one, C.data(),
                        CUDA_R_32F, C.leading(), CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT));
}

}  // namespace

void add_product_in_tf32(Cuda& backend, FloatProducts products, DenseView<const float> A,
                         DenseView<const float> B, DenseView<float> C) {
  if (C.rows() == 0 || C.columns() == 0 || A.columns() == 0) return;
  const CurrentDevice current(backend.device().id());
  if (products == FloatProducts::tf32) {
    add_rounded_product(backend, A, B, C);
    return;
  }
  const std::int64_t terms = 3 * A.columns();
  const auto elements = static_cast<std::size_t>(terms * (A.rows() + B.columns()));
  auto* const left = static_cast<float*>(backend.scratch(elements * sizeof(float)));
  float* const right = left + terms * A.rows();
  backend.for_each(A.rows() * A.columns(), SplitLeft{A, left});
  backend.for_each(B.rows() * B.columns(), SplitRight{B, right});
  add_rounded_product(backend, {left, A.rows(), terms, A.rows(), A.device()},
                      {right, terms, B.columns(), terms, B.device()}, C);
}

}  // namespace echelon

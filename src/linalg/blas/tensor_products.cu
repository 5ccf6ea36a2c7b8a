// SPDX-License-Identifier: BSD-3-Clause
#include "backend/cuda/libraries.cuh"
#include "linalg/blas/tensor_products.cuh"

#include <cuda_bf16.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace echelon {

namespace {

/// x rounded to 11 significant bits (Dekker's splitting), which TF32 represents.
__device__ float nearest_tf32(float x) {
  const float shifted = __fmul_rn(x, 8193);  // 2^13 + 1
  return __fsub_rn(shifted, __fsub_rn(shifted, x));
}

/// x = high + low with both parts in a type of fewer bits: TF32 in the format of float, or bfloat16.
template <class P>
struct Halves;
template <>
struct Halves<float> {
  float high, low;
  __device__ explicit Halves(float x) : high(nearest_tf32(x)), low(nearest_tf32(x - high)) {}
};
template <>
struct Halves<__nv_bfloat16> {
  __nv_bfloat16 high, low;
  __device__ explicit Halves(float x)
      : high(__float2bfloat16_rn(x)), low(__float2bfloat16_rn(x - __bfloat162float(high))) {}
};

/// The matrix (low(A) high(A) high(A)): the small products are added first.
template <class P>
struct SplitLeft {
  DenseView<const float> A;
  P* split;
  __device__ void operator()(std::int64_t e) const {
    const std::int64_t elements = A.rows() * A.columns();
    const Halves<P> x(A.data()[e / A.rows() * A.leading() + e % A.rows()]);
    split[e] = x.low;
    split[e + elements] = x.high;
    split[e + 2 * elements] = x.high;
  }
};

/// The matrix of high(B), low(B) and high(B), stacked.
template <class P>
struct SplitRight {
  DenseView<const float> B;
  P* split;
  __device__ void operator()(std::int64_t e) const {
    const std::int64_t i = e % B.rows();
    const std::int64_t j = e / B.rows();
    const Halves<P> x(B.data()[j * B.leading() + i]);
    P* const column = split + 3 * j * B.rows();
    column[i] = x.high;
    column[i + B.rows()] = x.low;
    column[i + 2 * B.rows()] = x.high;
  }
};

template <class F>
void for_each_on(cudaStream_t stream, std::int64_t n, const F& f) {
  constexpr std::int64_t max_blocks = 2048;
  const std::int64_t blocks = (n + cuda_kernels::block_size - 1) / cuda_kernels::block_size;
  cuda_kernels::
      for_each<<<static_cast<unsigned>(std::min(blocks, max_blocks)), cuda_kernels::block_size, 0, stream>>>(
          n, f);
  check(cudaGetLastError());
}

/// C = C + alpha A B for contiguous or strided columns of parts.
template <class P>
void add_rounded_product(Cuda& backend, float alpha, DenseView<const P> A, DenseView<const P> B,
                         DenseView<float> C) {
  constexpr bool is_tf32 = sizeof(P) == sizeof(float);
  constexpr cudaDataType type = is_tf32 ? CUDA_R_32F : CUDA_R_16BF;
  constexpr float one = 1;
  check(cublasGemmEx_64(backend.blas(), CUBLAS_OP_N, CUBLAS_OP_N, C.rows(), C.columns(), A.columns(), &alpha,
                        A.data(), type, A.leading(), B.data(), type, B.leading(), &one, C.data(), CUDA_R_32F,
                        C.leading(), is_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                        CUBLAS_GEMM_DEFAULT));
}

template <class P>
void add_split_product(Cuda& backend, cudaStream_t stream, float alpha, DenseView<const float> A,
                       DenseView<const float> B, DenseView<float> C) {
  const std::int64_t terms = 3 * A.columns();
  const std::int64_t left_elements = (terms * A.rows() + 15) / 16 * 16;  // keeps `right` aligned
  const auto elements = static_cast<std::size_t>(left_elements + terms * B.columns());
  auto* const left = static_cast<P*>(backend.scratch(elements * sizeof(P)));
  P* const right = left + left_elements;
  for_each_on(stream, A.rows() * A.columns(), SplitLeft<P>{A, left});
  for_each_on(stream, B.rows() * B.columns(), SplitRight<P>{B, right});
  add_rounded_product<P>(backend, alpha, {left, A.rows(), terms, A.rows(), A.device()},
                         {right, terms, B.columns(), terms, B.device()}, C);
}

}  // namespace

void add_product_on_tensor_cores(Cuda& backend, cudaStream_t stream, FloatProducts products, float alpha,
                                 DenseView<const float> A, DenseView<const float> B, DenseView<float> C) {
  if (C.rows() == 0 || C.columns() == 0 || A.columns() == 0) return;
  const CurrentDevice current(backend.device().id());
  if (products == FloatProducts::tf32) {
    add_rounded_product<float>(backend, alpha, A, B, C);
  } else if (products == FloatProducts::bf16x3) {
    add_split_product<__nv_bfloat16>(backend, stream, alpha, A, B, C);
  } else {
    add_split_product<float>(backend, stream, alpha, A, B, C);
  }
}

}  // namespace echelon

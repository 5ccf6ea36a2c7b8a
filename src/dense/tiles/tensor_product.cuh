// SPDX-License-Identifier: BSD-3-Clause
/// Products of float tiles on the tensor cores, from factors in TF32 or split into bfloat16.
#pragma once

#include "backend/cuda/mma_float.cuh"
#include "backend/cuda/warp.cuh"
#include "dense/tiles/product.cuh"
#include "linalg/blas/float_products.hpp"

#include <cuda_bf16.h>

#include <cstdint>

namespace echelon::tiles {

/// A warp's factors of the product of 16 by `terms` with `terms` by 8, in the registers that mma.sync reads.
template <FloatProducts products>
struct OperandFragments {
  static constexpr int terms = 8;
  static constexpr int parts = products == FloatProducts::tf32x3 ? 2 : 1;  ///< high and low
  std::uint32_t left[parts][4];
  std::uint32_t right[parts][2];

  __device__ void load_left(const float* a) {
#pragma unroll
    for (int e = 0; e < 4; ++e) split(a[e / 2 * 4 * padded + e % 2 * 8], left, e);
  }
  __device__ void load_right(const float* b) {
#pragma unroll
    for (int e = 0; e < 2; ++e) split(b[e * 4 * padded], right, e);
  }
  /// The first column of a lane's elements.
  static __device__ int first_term() {
    return lane_id() % 4;
  }
  static __device__ void multiply(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    mma::multiply_add_tf32(c, a, b);
  }

 private:
  template <int count>
  static __device__ void split(float x, std::uint32_t (&to)[parts][count], int e) {
    to[0][e] = mma::nearest_tf32(x);
    if constexpr (parts == 2) to[1][e] = mma::nearest_tf32(x - __uint_as_float(to[0][e]));
  }
};

template <>
struct OperandFragments<FloatProducts::bf16x3> {
  static constexpr int terms = 16;
  static constexpr int parts = 2;
  std::uint32_t left[parts][4];
  std::uint32_t right[parts][2];

  __device__ void load_left(const float* a) {
#pragma unroll
    for (int e = 0; e < 4; ++e) split(a + e / 2 * 8 * padded + e % 2 * 8, left, e);
  }
  __device__ void load_right(const float* b) {
#pragma unroll
    for (int e = 0; e < 2; ++e) split(b + e * 8 * padded, right, e);
  }
  static __device__ int first_term() {
    return lane_id() % 4 * 2;
  }
  static __device__ void multiply(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    mma::multiply_add_bf16(c, a, b);
  }

 private:
  /// Elements of a column and the next one in a register.
  template <int count>
  static __device__ void split(const float* x, std::uint32_t (&to)[parts][count], int e) {
    const float first = x[0];
    const float second = x[padded];
    const __nv_bfloat162 high = __floats2bfloat162_rn(first, second);
    const __nv_bfloat162 low = __floats2bfloat162_rn(first - __low2float(high), second - __high2float(high));
    to[0][e] = *reinterpret_cast<const std::uint32_t*>(&high);
    to[1][e] = *reinterpret_cast<const std::uint32_t*>(&low);
  }
};

/// The part of 32 by 32 that a warp has of C = A B^T, as WarpProduct<float>, from `terms` that are a multiple
/// of 16.
template <FloatProducts products>
class TensorProduct {
  using F = OperandFragments<products>;

 public:
  __device__ void clear() {
#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
      for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) c_[m][n][e] = 0;
      }
    }
  }

  __device__ void add(const float* a, const float* b, int terms) {
    a += F::first_term() * padded + lane_id() / 4;
    b += F::first_term() * padded + lane_id() / 4;
    for (int k = 0; k < terms; k += F::terms) {
      F factors[4];
#pragma unroll
      for (int m = 0; m < 2; ++m) factors[m].load_left(a + k * padded + 16 * m);
#pragma unroll
      for (int n = 0; n < 4; ++n) factors[n].load_right(b + k * padded + 8 * n);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          const auto& left = factors[m].left;
          const auto& right = factors[n].right;
          if constexpr (F::parts == 2) {  // the small products first
            F::multiply(c_[m][n], left[1], right[0]);
            F::multiply(c_[m][n], left[0], right[1]);
          }
          F::multiply(c_[m][n], left[0], right[0]);
        }
      }
    }
  }

  /// Calls f(row, column, value) for the elements of this lane.
  template <class Use>
  __device__ void for_each(Use f) {
    const int g = lane_id() / 4;
    const int t = lane_id() % 4;
#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
      for (int n = 0; n < 4; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) f(16 * m + g + e / 2 * 8, 8 * n + 2 * t + e % 2, c_[m][n][e]);
      }
    }
  }

 private:
  float c_[2][4][4];
};

}  // namespace echelon::tiles

// SPDX-License-Identifier: BSD-3-Clause
/// What the products of a sparse matrix with one and with several vectors have in common on a GPU: a block
/// stages its nonzeros in shared memory and sums rows from there.
#pragma once

#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "matrix/row_blocks.hpp"

namespace echelon::row_sums {

using cuda_kernels::block_size;

/// Values that one 16-byte load brings, and their columns.
template <class T>
struct Pack {
  static constexpr int size = 16 / sizeof(T);
  struct alignas(16) Values {
    T at[size];
  };
  struct alignas(4 * size) Columns {
    std::int32_t at[size];
  };
};

/// Where product k lies in shared memory: a gap after every 128 bytes, so that threads that walk along rows
/// of 8, 16, ... products do not all meet in one bank.
template <class T>
__device__ int place(int k) {
  return k + k / static_cast<int>(128 / sizeof(T));
}
template <class T>
constexpr int room = row_block_size + row_block_size / (128 / sizeof(T));

/// A row gets as many lanes as its block has threads for.
__device__ inline int lanes_for(int rows) {
  int lanes = 1;
  while (lanes < warp_size && 2 * lanes * rows <= block_size) lanes *= 2;
  return lanes;
}

/// A row with more nonzeros than this for each of its lanes is left to a warp.
inline constexpr int most_per_lane = 16;

/// The product, which no compiler may merge with a sum.
__device__ inline float rounded_product(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ inline double rounded_product(double a, double b) {
  return __dmul_rn(a, b);
}

template <class T>
__device__ void put(T alpha, T sum, T beta, T* y) {
  *y = beta == T{0} ? alpha * sum : fma(alpha, sum, beta * *y);
}

/// Part of a row that does not fit into a block: a block sums a piece in double, and the last of a row's
/// blocks its pieces, in order, for the element *y.
template <class T>
__device__ void multiply_piece(const RowBlocks::Piece& piece, const std::int32_t* __restrict__ columns,
                               const T* __restrict__ values, const T* __restrict__ x, std::int64_t x_step,
                               T alpha, T beta, T* y, Sum* partial, unsigned* finished) {
  Sum sum;
  for (std::int64_t k = piece.begin + threadIdx.x; k < piece.end; k += block_size) {
    sum.value += static_cast<double>(values[k]) * static_cast<double>(x[columns[k] * x_step]);
  }
  const auto number = static_cast<unsigned>(blockIdx.x - piece.first);
  if (cuda_kernels::combine_blocks(sum, number, static_cast<unsigned>(piece.count), partial + piece.first,
                                   finished + piece.first)) {
    put(alpha, static_cast<T>(sum.value), beta, y);
  }
}

template <class T>
struct Scale {
  T factor;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { y[i] = factor == T{0} ? T{0} : factor * y[i]; }
};

}  // namespace echelon::row_sums

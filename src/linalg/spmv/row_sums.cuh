// SPDX-License-Identifier: BSD-3-Clause
/// Pieces of the products of a sparse matrix with one vector and with several on a GPU: a thread block stages
/// its nonzeros in shared memory and sums rows from there.
#pragma once

#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "backend/rounded.hpp"
#include "matrix/row_blocks.hpp"

#include <echelon/matrix/scalar.hpp>

namespace echelon::row_sums {

using cuda_kernels::block_size;

/// Values of one 16-byte load, and their columns.
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

/// Index of product k in shared memory: one element of padding after every 128 bytes, so that threads that
/// traverse rows of 8, 16, ... products do not access the same bank.
template <class T>
__device__ int padded_index(int k) {
  return k + k / static_cast<int>(128 / sizeof(T));
}
template <class T>
constexpr int padded_size = row_block_size + row_block_size / (128 / sizeof(T));

/// Nonzeros [begin, min(end, begin + row_block_size)) in the registers of a thread block, zeros beyond the
/// end. A thread issues all its loads before it uses the first, to hide their latency.
template <class T>
struct BlockNonzeros {
  using P = Pack<T>;
  static constexpr int packs = row_block_size / (block_size * P::size);
  typename P::Values values[packs];
  typename P::Columns columns[packs];

  __device__ void load(std::int64_t begin, std::int64_t end, std::int64_t nonzeros,
                       const std::int32_t* __restrict__ all_columns, const T* __restrict__ all_values) {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      const std::int64_t k = begin + index(p, 0);
      if (k < end && k + P::size <= nonzeros) {
        values[p] = *reinterpret_cast<const typename P::Values*>(all_values + k);
        columns[p] = *reinterpret_cast<const typename P::Columns*>(all_columns + k);
        continue;
      }
#pragma unroll
      for (int i = 0; i < P::size; ++i) {
        values[p].at[i] = k + i < end ? all_values[k + i] : T{0};
        columns[p].at[i] = k + i < end ? all_columns[k + i] : 0;
      }
    }
  }
  /// Index in the block of element i of the thread's pack p.
  static __device__ int index(int p, int i) {
    return (p * block_size + static_cast<int>(threadIdx.x)) * P::size + i;
  }
};

/// Number of lanes that sum a row, a power of two: the largest for which the block's threads suffice.
__device__ inline int lanes_for(int rows) {
  int lanes = 1;
  while (lanes < warp_size && 2 * lanes * rows <= block_size) lanes *= 2;
  return lanes;
}

/// A row with more nonzeros per lane than this is summed by a warp instead.
inline constexpr int max_per_lane = 16;

template <class T>
__device__ void put(T alpha, T sum, T beta, T* y) {
  if constexpr (is_complex<T>) {
    *y = beta == T{0} ? alpha * sum : alpha * sum + beta * *y;
  } else {
    *y = beta == T{0} ? alpha * sum : fma(alpha, sum, beta * *y);
  }
}

/// Division of the rows of a matrix among thread blocks: the pieces of rows that do not fit into a block,
/// then blocks of the other rows.
struct RowDivision {
  const RowBlocks::Piece* pieces;
  unsigned piece_count;
  const longlong2* starts;  ///< of the blocks: row, and its first nonzero
};

/// Sums of the pieces of long rows, and how many of a row are finished: an element for each piece.
struct PieceSums {
  Sum* partial;
  unsigned* finished;
};

/// Piece of a row that is too long for one block. Each block sums its piece in double; the last of the row's
/// blocks to finish adds the pieces in order and uses the sum.
template <class T, class X, class Use>
__device__ void multiply_piece(const RowBlocks::Piece& piece, const std::int32_t* __restrict__ columns,
                               const T* __restrict__ values, X x, Use use, const PieceSums& sums) {
  Sum sum;
  for (std::int64_t k = piece.begin + threadIdx.x; k < piece.end; k += block_size) {
    sum.value = fma(static_cast<double>(values[k]), static_cast<double>(x[columns[k]]), sum.value);
  }
  const auto number = static_cast<unsigned>(blockIdx.x - piece.first);
  if (cuda_kernels::combine_blocks(sum, number, static_cast<unsigned>(piece.count),
                                   sums.partial + piece.first, sums.finished + piece.first)) {
    use(piece.row, static_cast<T>(sum.value));
  }
}

template <class T>
struct Scale {
  T factor;
  T* y;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { y[i] = factor == T{0} ? T{0} : factor * y[i]; }
};

}  // namespace echelon::row_sums

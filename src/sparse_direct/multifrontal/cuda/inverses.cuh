// SPDX-License-Identifier: BSD-3-Clause
/// Inverses of the diagonal blocks of large fronts' factors, for substitutions.
#pragma once

#include "sparse_direct/multifrontal/cuda/arrays.cuh"

namespace echelon::sparse_direct::gpu {

/// A triangle of a front and the inverses of its diagonal blocks: of L, or of the transpose of U.
template <class T>
struct InvertedTriangle {
  const T* panel;
  int leading;
  bool upper;
  InverseBlocks blocks;
  T* inverses;

  __device__ InvertedTriangle(const FactorArrays<T>& arrays, const Front& front, bool upper_, T* all_inverses)
      : panel(arrays.factor + front.panel),
        leading(front.rows),
        upper(upper_),
        blocks(front.pivots),
        inverses(all_inverses + front.inverse + (upper_ ? blocks.entries() : 0)) {}

  __device__ T operator()(int i, int j) const {
    return upper ? panel[j + std::int64_t{i} * leading] : panel[i + std::int64_t{j} * leading];
  }
  /// Element (i, j) of a block's inverse, with indices relative to the block.
  __device__ T& inverse(int block, int i, int j) const {
    return inverses[blocks.offset(block) + std::int64_t{i} * blocks.width(block) + j];
  }
};

/// Rows of a diagonal block that invert_diagonal_blocks takes together.
inline constexpr int inverse_rows = 16;

/// Whether shared memory has room for the inverse of a block of order smallest_inverse_order.
template <class T>
inline constexpr bool has_shared_inverse = !is_complex<T>;

/// Rows first, ..., first + count - 1 of a diagonal block, by columns, and the reciprocals of its diagonal.
template <class T>
struct RowsToInvert {
  T elements[smallest_inverse_order][inverse_rows + 2];  ///< padded, for fewer conflicts of memory banks
  T reciprocals[inverse_rows];

  /// Thread j loads column j of the block at p. Barriers are before and after.
  __device__ void load(const InvertedTriangle<T>& triangle, int p, int width, int first, int count,
                       bool unit_diagonal) {
    const int j = static_cast<int>(threadIdx.x);
    __syncthreads();
    if (j < width) {
#pragma unroll
      for (int r = 0; r < inverse_rows; ++r)
        elements[j][r] = r < count ? triangle(p + first + r, p + j) : T{};
    }
    if (j >= first && j < first + count)
      reciprocals[j - first] = unit_diagonal ? T{1} : T{1} / elements[j][j - first];
    __syncthreads();
  }
};

/// Computes inverses of the diagonal blocks of order smallest_inverse_order, which lie on the diagonals of
/// the blocks whose inverses are stored: of L, and of the transpose of U if blockIdx.z is 1. blockIdx.x:
/// number of the block in the front. Each of smallest_inverse_order threads computes one column, by
/// inverse_rows rows together, and reads its elements again from dynamic shared memory for
/// smallest_inverse_order squared elements, if there is room.
template <class T, FactorKind kind>
__global__ void invert_diagonal_blocks(FactorArrays<T> arrays, const std::int32_t* list, T* inverses) {
  constexpr int order = smallest_inverse_order;
  extern __shared__ __align__(16) unsigned char storage[];
  T* const X = reinterpret_cast<T*>(storage);
  __shared__ RowsToInvert<T> rows;
  const Front front = arrays.fronts[list[blockIdx.y]];
  const int p = static_cast<int>(blockIdx.x) * order;
  if (p >= front.pivots) return;
  const bool upper = blockIdx.z == 1;
  const InvertedTriangle<T> triangle(arrays, front, upper, inverses);
  const int width = min(order, front.pivots - p);
  const int block = p / triangle.blocks.order;
  const int place = p % triangle.blocks.order;
  const int j = static_cast<int>(threadIdx.x);
  for (int first = 0; first < width; first += inverse_rows) {
    const int count = min(inverse_rows, width - first);
    rows.load(triangle, p, width, first, count, kind != FactorKind::cholesky && !upper);
    if (j >= width) continue;
    T sums[inverse_rows];
#pragma unroll
    for (int r = 0; r < inverse_rows; ++r) sums[r] = j == first + r ? T{1} : T{};
      // Elements above the diagonal are zero, so that a warp begins with its first column.
#pragma unroll 2
    for (int c = warp_id() * warp_size; c < first; ++c) {
      const T x = -(has_shared_inverse<T> ? X[c * order + j] : triangle.inverse(block, place + c, place + j));
#pragma unroll
      for (int r = 0; r < inverse_rows; ++r) multiply_add(sums[r], rows.elements[c][r], x);
    }
#pragma unroll
    for (int r = 0; r < inverse_rows; ++r) {
      if (r >= count) break;
      const T x = sums[r] * rows.reciprocals[r];
      if (has_shared_inverse<T>) X[(first + r) * order + j] = x;
      triangle.inverse(block, place + first + r, place + j) = x;
#pragma unroll
      for (int k = r + 1; k < inverse_rows; ++k) multiply_add(sums[k], rows.elements[first + r][k], -x);
    }
  }
}

/// Columns of an inverse that a thread block completes.
inline constexpr int inverse_columns = 32;
/// Threads of a block, each of which holds four rows and four columns of a product.
inline constexpr int inverse_threads = smallest_inverse_order / 4 * inverse_columns / 4;

/// Product of smallest_inverse_order rows and inverse_columns columns in the registers of inverse_threads
/// threads.
template <class T>
struct InverseProduct {
  static constexpr int depth = 8;
  struct Tiles {
    T left[depth][smallest_inverse_order + 1];
    T right[depth][inverse_columns];
  };
  T sums[4][4] = {};

  /// Row and column in the product of entry (r, c) of the calling thread's sums.
  static __device__ int row(int r) { return static_cast<int>(threadIdx.x) / 8 + r * 32; }
  static __device__ int column(int c) { return static_cast<int>(threadIdx.x) % 8 + c * 8; }

  /// Adds the product of left(row, k) and right(k, column), 0 <= k < inner.
  template <class Left, class Right>
  __device__ void add(Tiles& tiles, int inner, Left left, Right right) {
    for (int first = 0; first < inner; first += depth) {
      __syncthreads();
      for (int t = static_cast<int>(threadIdx.x); t < depth * smallest_inverse_order; t += inverse_threads) {
        const int k = t / smallest_inverse_order;
        const int i = t % smallest_inverse_order;
        tiles.left[k][i] = first + k < inner ? left(i, first + k) : T{};
      }
      for (int t = static_cast<int>(threadIdx.x); t < depth * inverse_columns; t += inverse_threads) {
        const int k = t / inverse_columns;
        const int j = t % inverse_columns;
        tiles.right[k][j] = first + k < inner ? right(first + k, j) : T{};
      }
      __syncthreads();
#pragma unroll
      for (int k = 0; k < depth; ++k) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
#pragma unroll
          for (int c = 0; c < 4; ++c)
            multiply_add(sums[r][c], tiles.left[k][row(r)], tiles.right[k][column(c)]);
        }
      }
    }
  }
};

/// Shared memory of complete_inverses.
template <class T>
struct InverseScratch {
  typename InverseProduct<T>::Tiles tiles;
  T S[smallest_inverse_order][inverse_columns];
};

/// Completes the inverses X of blocks larger than smallest_inverse_order, from the inverses on their
/// diagonals: X(i, j) = -X(i, i) (sum of L(i, k) X(k, j) for j <= k < i), in blocks. blockIdx.x:
/// inverse_columns columns of the front's pivots. Dynamic shared memory for InverseScratch.
template <class T>
__global__ void complete_inverses(FactorArrays<T> arrays, const std::int32_t* list, T* inverses) {
  constexpr int order = smallest_inverse_order;
  using Product = InverseProduct<T>;
  extern __shared__ __align__(16) unsigned char storage[];
  auto& scratch = *reinterpret_cast<InverseScratch<T>*>(storage);
  auto& tiles = scratch.tiles;
  auto& S = scratch.S;
  const Front front = arrays.fronts[list[blockIdx.y]];
  const InvertedTriangle<T> X(arrays, front, blockIdx.z == 1, inverses);
  const int column = static_cast<int>(blockIdx.x) * inverse_columns;
  if (column >= front.pivots) return;
  const int block = column / X.blocks.order;
  const int p = block * X.blocks.order;
  const int width = X.blocks.width(block);
  const int first = column - p;
  const int begin = first / order * order;
  const int columns = min(inverse_columns, width - first);
  for (int i = begin + order; i < width; i += order) {
    const int rows = min(order, width - i);
    Product sum;
    sum.add(
        tiles, i - begin, [&](int r, int k) { return r < rows ? X(p + i + r, p + begin + k) : T{}; },
        [&](int k, int c) { return c < columns ? X.inverse(block, begin + k, first + c) : T{}; });
    for (int r = 0; r < 4; ++r) {
      for (int c = 0; c < 4; ++c) S[Product::row(r)][Product::column(c)] = sum.sums[r][c];
    }
    Product product;  // the first barrier of add() also completes the writes of S
    product.add(
        tiles, rows, [&](int r, int k) { return r < rows ? X.inverse(block, i + r, i + k) : T{}; },
        [&](int k, int c) { return S[k][c]; });
    for (int r = 0; r < 4; ++r) {
      for (int c = 0; c < 4; ++c) {
        if (Product::row(r) >= rows || Product::column(c) >= columns) continue;
        X.inverse(block, i + Product::row(r), first + Product::column(c)) = -product.sums[r][c];
      }
    }
    __syncthreads();
  }
}

}  // namespace echelon::sparse_direct::gpu

// SPDX-License-Identifier: BSD-3-Clause
/// Assembly and elimination of a front that fits into the shared memory of one thread block.
#pragma once

#include "sparse_direct/multifrontal/cuda/arrays.cuh"

#include <cmath>

namespace echelon::sparse_direct::gpu {

/// Columns that are eliminated one by one before the rest of the front is updated by their product.
inline constexpr int small_block = 8;

/// A front in shared memory, column-major. For Cholesky only the lower triangle is used.
template <class T>
struct SharedFront {
  T* elements;
  int leading;
  int rows;
  int pivots;
  __device__ T& operator()(int i, int j) const { return elements[i + j * leading]; }
};

template <class T, FactorKind kind>
__device__ void load_front(const FactorArrays<T>& arrays, const Front& front, const SharedFront<T>& F) {
  const T* const panel = arrays.factor + front.panel;
  const T* const row_panel = arrays.factor + front.row_panel;
  const int border = F.rows - F.pivots;
  for (int j = warp_id(); j < F.rows; j += block_warps()) {
    for (int i = lane_id(); i < F.rows; i += warp_size) {
      if (j < F.pivots) {
        F(i, j) = panel[i + j * F.rows];
      } else if (i >= F.pivots) {
        F(i, j) = 0;
      }
    }
  }
  if constexpr (kind == FactorKind::lu) {
    for (int i = warp_id(); i < F.pivots; i += block_warps()) {
      for (int j = lane_id(); j < border; j += warp_size) F(i, F.pivots + j) = row_panel[j + i * border];
    }
  }
  __syncthreads();
}

/// Adds the update matrices of the children, one after the other so that the sums are always the same.
template <class T, FactorKind kind>
__device__ void add_children(const FactorArrays<T>& arrays, const Front& front, const SharedFront<T>& F) {
  for (int c = front.child_begin; c < front.child_end; ++c) {
    const Front child = arrays.fronts[arrays.children[c]];
    const std::int32_t* const __restrict__ relative = arrays.relative + child.border;
    const T* const __restrict__ update = arrays.stack + child.update;
    const int order = child.rows - child.pivots;
    for (int j = warp_id(); j < order; j += block_warps()) {
      const int column = relative[j];
      const T* const source = update + std::int64_t{j} * order;
#pragma unroll 4
      for (int i = (kind == FactorKind::cholesky ? j : 0) + lane_id(); i < order; i += warp_size) {
        F(relative[i], column) += source[i];
      }
    }
    __syncthreads();
  }
}

/// Eliminates columns p, ..., p + width - 1, without updates of other columns, by Cholesky's method: the
/// diagonal block by one warp, then one row below it for each thread.
template <class T>
__device__ void factor_columns(const FactorArrays<T>& arrays, const Front& front, const SharedFront<T>& F,
                               int p, int width) {
  __shared__ T reciprocals[small_block];
  const int thread = static_cast<int>(threadIdx.x);
  if (warp_id() == 0) {
    T row[small_block];
#pragma unroll
    for (int c = 0; c < small_block; ++c) row[c] = thread < width && c <= thread ? F(p + thread, p + c) : T{};
    const int failed = factor_in_registers(row, width);
    if (thread == 0 && failed < width) record_failure(arrays, front.first + p + failed);
#pragma unroll
    for (int c = 0; c < small_block; ++c) {
      if (thread < width && c <= thread) F(p + thread, p + c) = row[c];
      if (thread == c) reciprocals[c] = 1 / row[c];
    }
  }
  __syncthreads();
  for (int i = p + width + thread; i < F.rows; i += static_cast<int>(blockDim.x)) {
    T x[small_block];
#pragma unroll
    for (int c = 0; c < small_block; ++c) {
      if (c >= width) break;
      T sum = F(i, p + c);
#pragma unroll
      for (int q = 0; q < c; ++q) sum -= x[q] * F(p + c, p + q);
      x[c] = sum * reciprocals[c];
      F(i, p + c) = x[c];
    }
  }
  __syncthreads();
}

/// The largest element of column c among the rows that may become pivots; found by the first warp.
template <class T>
__device__ LargestInColumn<T> largest_in_column(const SharedFront<T>& F, int c) {
  LargestInColumn<T> largest{-1, c};
  for (int i = c + lane_id(); i < F.pivots; i += warp_size) {
    const T magnitude = fabs(F(i, c));
    if (magnitude > largest.magnitude) largest = {magnitude, i};
  }
  largest.reduce_warp();
  return largest;
}

/// Eliminates columns p, ..., p + width - 1 in the rows that may become pivots, with the largest element of
/// each column as its pivot. Only the first warp works, since its lanes need no barrier of the block.
template <class T>
__device__ void factor_pivotal_rows(const FactorArrays<T>& arrays, const Front& front,
                                    const SharedFront<T>& F, int p, int width, int* order, int* exchanges) {
  const int lane = lane_id();
  T multiplier = 0;
  for (int c = p; c < p + width; ++c) {
    const auto [magnitude, row] = largest_in_column(F, c);
    __syncwarp();  // all lanes have read the column
    if (lane == 0) {
      if (!(magnitude > 0)) record_failure(arrays, front.first + c);
      exchanges[c - p] = row;
      const int other = order[c];
      order[c] = order[row];
      order[row] = other;
    }
    if (row != c && lane < width) {
      const T element = F(c, p + lane);
      F(c, p + lane) = F(row, p + lane);
      F(row, p + lane) = element;
    }
    __syncwarp();
    const T reciprocal = 1 / F(c, c);
    for (int i = c + 1 + lane; i < F.pivots; i += warp_size) {
      const T element = F(i, c) * reciprocal;
      F(i, c) = element;
      multiplier = fmax(multiplier, fabs(element));
      for (int j = c + 1; j < p + width; ++j) F(i, j) -= element * F(c, j);
    }
    __syncwarp();
  }
  record_multiplier(arrays, multiplier);
}

/// Applies the exchanges to the columns outside p, ..., p + width - 1, and completes the rows of U to the
/// right of these and the rows of L below the pivots: one column or row for each thread.
template <class T>
__device__ void solve_rows_and_columns(const FactorArrays<T>& arrays, const SharedFront<T>& F, int p,
                                       int width, const int* exchanges) {
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int j = thread; j < F.rows; j += threads) {
    if (j >= p && j < p + width) continue;
    for (int c = 0; c < width; ++c) {
      const T element = F(p + c, j);
      F(p + c, j) = F(exchanges[c], j);
      F(exchanges[c], j) = element;
    }
    if (j < p) continue;
    for (int c = 1; c < width; ++c) {
      T sum = F(p + c, j);
      for (int q = 0; q < c; ++q) sum -= F(p + c, p + q) * F(p + q, j);
      F(p + c, j) = sum;
    }
  }
  T multiplier = 0;
  for (int i = F.pivots + thread; i < F.rows; i += threads) {
    for (int c = 0; c < width; ++c) {
      T sum = F(i, p + c);
      for (int q = 0; q < c; ++q) sum -= F(i, p + q) * F(p + q, p + c);
      sum /= F(p + c, p + c);
      F(i, p + c) = sum;
      multiplier = fmax(multiplier, fabs(sum));
    }
  }
  record_multiplier(arrays, multiplier);
  __syncthreads();
}

/// Subtracts the product of the eliminated columns from the rest, in tiles of 2 by 4 for each thread.
template <class T, FactorKind kind>
__device__ void update_rest(const SharedFront<T>& F, int p, int width) {
  constexpr int tile_columns = 4;
  const int begin = p + width;
  const int order = F.rows - begin;
  const int row_tiles = (order + 2 * warp_size - 1) / (2 * warp_size);
  const int column_tiles = (order + tile_columns - 1) / tile_columns;
  for (int tile = warp_id(); tile < row_tiles * column_tiles; tile += block_warps()) {
    const int j = begin + tile / row_tiles * tile_columns;
    const int first_row = begin + tile % row_tiles * 2 * warp_size;
    if (kind == FactorKind::cholesky && first_row + 2 * warp_size <= j) continue;
    const int i0 = first_row + lane_id();
    const int i1 = i0 + warp_size;
    T sums[2][tile_columns] = {};
    for (int q = p; q < begin; ++q) {
      const T a0 = i0 < F.rows ? F(i0, q) : T{};
      const T a1 = i1 < F.rows ? F(i1, q) : T{};
#pragma unroll
      for (int t = 0; t < tile_columns; ++t) {
        const int column = min(j + t, F.rows - 1);
        const T b = kind == FactorKind::cholesky ? F(column, q) : F(q, column);
        sums[0][t] += a0 * b;
        sums[1][t] += a1 * b;
      }
    }
#pragma unroll
    for (int t = 0; t < tile_columns; ++t) {
      if (j + t >= F.rows) break;
      const int top = kind == FactorKind::cholesky ? j + t : 0;
      if (i0 < F.rows && i0 >= top) F(i0, j + t) -= sums[0][t];
      if (i1 < F.rows && i1 >= top) F(i1, j + t) -= sums[1][t];
    }
  }
  __syncthreads();
}

template <class T, FactorKind kind>
__device__ void store_front(const FactorArrays<T>& arrays, const Front& front, const SharedFront<T>& F) {
  T* const panel = arrays.factor + front.panel;
  T* const row_panel = arrays.factor + front.row_panel;
  T* const update = arrays.stack + front.update;
  const int border = F.rows - F.pivots;
  for (int j = warp_id(); j < F.rows; j += block_warps()) {
    const int top = kind == FactorKind::cholesky ? j : 0;
    for (int i = top + lane_id(); i < F.rows; i += warp_size) {
      if (j < F.pivots) {
        panel[i + j * F.rows] = F(i, j);
      } else if (i >= F.pivots) {
        update[i - F.pivots + (j - F.pivots) * border] = F(i, j);
      }
    }
  }
  if constexpr (kind == FactorKind::lu) {
    for (int i = warp_id(); i < F.pivots; i += block_warps()) {
      for (int j = lane_id(); j < border; j += warp_size) row_panel[j + i * border] = F(i, F.pivots + j);
    }
  }
}

/// Kernel with one block for each front of `list`; dynamic shared memory of leading * (largest order)
/// elements.
template <class T, FactorKind kind>
__global__ void factor_small_fronts(FactorArrays<T> arrays, const std::int32_t* list, int leading) {
  extern __shared__ __align__(16) unsigned char storage[];
  __shared__ int order[small_orders[small_classes - 1]];
  __shared__ int exchanges[small_block];
  const Front front = arrays.fronts[list[blockIdx.x]];
  const SharedFront<T> F{reinterpret_cast<T*>(storage), leading, front.rows, front.pivots};
  for (int i = static_cast<int>(threadIdx.x); i < front.pivots; i += static_cast<int>(blockDim.x))
    order[i] = i;
  load_front<T, kind>(arrays, front, F);
  add_children<T, kind>(arrays, front, F);
  for (int p = 0; p < front.pivots; p += small_block) {
    const int width = min(small_block, front.pivots - p);
    if constexpr (kind == FactorKind::cholesky) {
      factor_columns(arrays, front, F, p, width);
    } else {
      if (warp_id() == 0) factor_pivotal_rows(arrays, front, F, p, width, order, exchanges);
      __syncthreads();
      solve_rows_and_columns(arrays, F, p, width, exchanges);
    }
    update_rest<T, kind>(F, p, width);
  }
  store_front<T, kind>(arrays, front, F);
  if constexpr (kind == FactorKind::lu) {
    for (int i = static_cast<int>(threadIdx.x); i < front.pivots; i += static_cast<int>(blockDim.x)) {
      arrays.position[front.first + order[i]] = i;
    }
  }
}

}  // namespace echelon::sparse_direct::gpu

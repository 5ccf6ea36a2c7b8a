// SPDX-License-Identifier: BSD-3-Clause
/// Assembly and elimination of a front that fits into the shared memory of one thread block.
#pragma once

#include "sparse_direct/multifrontal/cuda/arrays.cuh"

#include <cuda_pipeline.h>

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

/// Copies the front's elements of A to shared memory, and zeroes the rest.
template <class T, FactorKind kind>
__device__ void load_front(const FactorArrays<T>& arrays, const Front& front, const SharedFront<T>& F) {
  const T* const panel = arrays.factor + front.panel;
  const T* const row_panel = arrays.factor + front.row_panel;
  const int border = F.rows - F.pivots;
  for (int j = warp_id(); j < F.rows; j += block_warps()) {
    for (int i = lane_id(); i < F.rows; i += warp_size) {
      if (j < F.pivots) {
        __pipeline_memcpy_async(&F(i, j), &panel[i + j * F.rows], sizeof(T));
      } else if (i >= F.pivots) {
        F(i, j) = T{};
      }
    }
  }
  if constexpr (kind == FactorKind::lu) {
    for (int i = warp_id(); i < F.pivots; i += block_warps()) {
      for (int j = lane_id(); j < border; j += warp_size)
        __pipeline_memcpy_async(&F(i, F.pivots + j), &row_panel[j + i * border], sizeof(T));
    }
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
}

/// The update matrix of a child.
struct ChildUpdate {
  std::int64_t border;
  std::int64_t update;
  int order;
};

/// Adds column j of a child's update matrix to a column of the front, by a warp.
template <class T, FactorKind kind>
__device__ void add_child_column(const FactorArrays<T>& arrays, const ChildUpdate& child, int j, int column,
                                 const SharedFront<T>& F) {
  const std::int32_t* const __restrict__ rows = arrays.relative_rows + child.border;
  const T* const __restrict__ source = arrays.stack + child.update + std::int64_t{j} * child.order;
#pragma unroll 4
  for (int i = (kind == FactorKind::cholesky ? j : 0) + lane_id(); i < child.order; i += warp_size)
    F(rows[i], column) += source[i];
}

/// Adds the columns of a child's update matrix that are those of this warp in the front.
template <class T, FactorKind kind>
__device__ void add_child(const FactorArrays<T>& arrays, const ChildUpdate& child, const SharedFront<T>& F) {
  for (int begin = 0; begin < child.order; begin += warp_size) {
    const int j = begin + lane_id();
    const int column = j < child.order ? arrays.relative[child.border + j] : -1;
    unsigned own = __ballot_sync(full_warp, column >= 0 && column % block_warps() == warp_id());
    for (; own != 0; own &= own - 1) {
      const int lane = __ffs(static_cast<int>(own)) - 1;
      add_child_column<T, kind>(arrays, child, begin + lane, __shfl_sync(full_warp, column, lane), F);
    }
  }
}

/// Adds the update matrices of the children. Each column of the front is that of one warp, which adds the
/// children one after the other, so that the sums are always the same.
template <class T, FactorKind kind>
__device__ void add_children(const FactorArrays<T>& arrays, const Front& front, const SharedFront<T>& F) {
  __shared__ ChildUpdate children[warp_size];
  for (int first = front.child_begin; first < front.child_end; first += warp_size) {
    const int count = min(warp_size, front.child_end - first);
    __syncthreads();
    if (static_cast<int>(threadIdx.x) < count) {
      const Front& child = arrays.fronts[arrays.children[first + static_cast<int>(threadIdx.x)]];
      children[threadIdx.x] = {child.border, child.update, child.rows - child.pivots};
    }
    __syncthreads();
    for (int c = 0; c < count; ++c) {
      const ChildUpdate child = children[c];
      add_child<T, kind>(arrays, child, F);
    }
  }
  __syncthreads();
}

/// Factors the diagonal block of columns p, ..., p + width - 1 with the pivots on its diagonal, by a warp,
/// and stores the reciprocals of the diagonal.
template <class T, FactorKind kind>
__device__ void factor_diagonal(const FactorArrays<T>& arrays, const Front& front, const SharedFront<T>& F,
                                int p, T* reciprocals) {
  const int width = min(small_block, front.pivots - p);
  constexpr bool lower = kind == FactorKind::cholesky;
  const int lane = lane_id();
  T row[small_block];
#pragma unroll
  for (int c = 0; c < small_block; ++c)
    row[c] = lane < width && (lower ? c <= lane : c < width) ? F(p + lane, p + c) : T{};
  int failed = width;
  if constexpr (lower) {
    failed = factor_in_registers(row, width);
  } else {
    Real<T> multiplier = 0;
    failed = factor_lu_in_registers(row, width, multiplier);
    record_multiplier(arrays, multiplier);
  }
  if (lane == 0 && failed < width) record_failure(arrays, front.first + p + failed);
#pragma unroll
  for (int c = 0; c < small_block; ++c) {
    if (lane < width && (lower ? c <= lane : c < width)) F(p + lane, p + c) = row[c];
    if (lane == c) reciprocals[c] = T{1} / row[c];
  }
}

/// Completes L in columns p, ..., p + width - 1 below a factored diagonal block, and for LU the rows of U to
/// the right: one row or column for each thread.
template <class T, FactorKind kind>
__device__ void solve_beside(const FactorArrays<T>& arrays, const SharedFront<T>& F, int p, int width,
                             const T* reciprocals) {
  constexpr bool has_right = kind == FactorKind::lu;
  const int rest = F.rows - p - width;
  Real<T> multiplier = 0;
  for (int t = static_cast<int>(threadIdx.x); t < (has_right ? 2 : 1) * rest;
       t += static_cast<int>(blockDim.x)) {
    const bool is_row = t < rest;
    const int k = p + width + (is_row ? t : t - rest);
    T x[small_block];
#pragma unroll
    for (int c = 0; c < small_block; ++c) {
      if (c >= width) break;
      T& element = is_row ? F(k, p + c) : F(p + c, k);
      T sum = element;
#pragma unroll
      for (int q = 0; q < c; ++q)
        sum -= x[q] * (has_right && is_row ? F(p + q, p + c) : mirrored<kind>(F(p + c, p + q)));
      x[c] = is_row ? sum * reciprocals[c] : sum;
      if (is_row) multiplier = fmax(multiplier, cabs1(x[c]));
      element = x[c];
    }
  }
  if (has_right) record_multiplier(arrays, multiplier);
  __syncthreads();
}

/// The largest element of column c among the rows that may become pivots; found by the first warp.
template <class T>
__device__ LargestInColumn<T> largest_in_column(const SharedFront<T>& F, int c) {
  LargestInColumn<T> largest{-1, c};
  for (int i = c + lane_id(); i < F.pivots; i += warp_size) {
    const Real<T> magnitude = cabs1(F(i, c));
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
  Real<T> multiplier = 0;
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
    const T reciprocal = T{1} / F(c, c);
    for (int i = c + 1 + lane; i < F.pivots; i += warp_size) {
      const T element = F(i, c) * reciprocal;
      F(i, c) = element;
      multiplier = fmax(multiplier, cabs1(element));
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
  Real<T> multiplier = 0;
  for (int i = F.pivots + thread; i < F.rows; i += threads) {
    for (int c = 0; c < width; ++c) {
      T sum = F(i, p + c);
      for (int q = 0; q < c; ++q) sum -= F(i, p + q) * F(p + q, p + c);
      sum /= F(p + c, p + c);
      F(i, p + c) = sum;
      multiplier = fmax(multiplier, cabs1(sum));
    }
  }
  record_multiplier(arrays, multiplier);
  __syncthreads();
}

/// Columns of a tile that a warp updates; its rows are two for each lane.
inline constexpr int small_tile_columns = 4;

/// Subtracts the product of columns p, ..., begin - 1 from a tile whose first column is j, by a warp.
template <class T, FactorKind kind>
__device__ void update_tile(const SharedFront<T>& F, int p, int begin, int first_row, int j) {
  if (kind == FactorKind::cholesky && first_row + 2 * warp_size <= j) return;
  const int i0 = first_row + lane_id();
  const int i1 = i0 + warp_size;
  T sums[2][small_tile_columns] = {};
  for (int q = p; q < begin; ++q) {
    const T a0 = i0 < F.rows ? F(i0, q) : T{};
    const T a1 = i1 < F.rows ? F(i1, q) : T{};
#pragma unroll
    for (int t = 0; t < small_tile_columns; ++t) {
      const int column = min(j + t, F.rows - 1);
      const T b = kind == FactorKind::cholesky ? mirrored<kind>(F(column, q)) : F(q, column);
      multiply_add(sums[0][t], a0, b);
      multiply_add(sums[1][t], a1, b);
    }
  }
#pragma unroll
  for (int t = 0; t < small_tile_columns; ++t) {
    if (j + t >= F.rows) break;
    const int top = kind == FactorKind::cholesky ? j + t : 0;
    if (i0 < F.rows && i0 >= top) F(i0, j + t) -= sums[0][t];
    if (i1 < F.rows && i1 >= top) F(i1, j + t) -= sums[1][t];
  }
}

/// Tiles of the columns after a step, numbered by columns of tiles.
struct SmallTiles {
  int begin;
  int rows;     ///< of tiles
  int columns;  ///< of tiles
  template <class T>
  __device__ SmallTiles(const SharedFront<T>& F, int begin_)
      : begin(begin_),
        rows((F.rows - begin_ + 2 * warp_size - 1) / (2 * warp_size)),
        columns((F.rows - begin_ + small_tile_columns - 1) / small_tile_columns) {}
  template <FactorKind kind, class T>
  __device__ void update(const SharedFront<T>& F, int p, int tile) const {
    update_tile<T, kind>(F, p, begin, begin + tile % rows * 2 * warp_size,
                         begin + tile / rows * small_tile_columns);
  }
};

/// Subtracts the product of the eliminated columns from the rest.
template <class T, FactorKind kind>
__device__ void update_rest(const SharedFront<T>& F, int p, int width) {
  const SmallTiles tiles(F, p + width);
  for (int tile = warp_id(); tile < tiles.rows * tiles.columns; tile += block_warps())
    tiles.template update<kind>(F, p, tile);
  __syncthreads();
}

/// Subtracts the same product; the first warp begins with the next diagonal block, and factors it while the
/// others go on.
template <class T, FactorKind kind>
__device__ void update_and_factor(const FactorArrays<T>& arrays, const Front& front, const SharedFront<T>& F,
                                  int p, int width, T* reciprocals) {
  static_assert(small_block == 2 * small_tile_columns);
  const SmallTiles tiles(F, p + width);
  const int count = tiles.rows * tiles.columns;
  const int second = tiles.rows;  // the tile right of the first
  const int own = block_warps() > 1 ? warp_id() - 1 : 0;
  const int workers = max(block_warps() - 1, 1);
  if (warp_id() == 0 && count > 0) {
    tiles.template update<kind>(F, p, 0);
    if (second < count) tiles.template update<kind>(F, p, second);
    __syncwarp();
    if (tiles.begin < front.pivots) factor_diagonal<T, kind>(arrays, front, F, tiles.begin, reciprocals);
  }
  if (warp_id() > 0 || block_warps() == 1) {
    for (int tile = 1 + own; tile < count; tile += workers) {
      if (tile != second) tiles.template update<kind>(F, p, tile);
    }
  }
  __syncthreads();
}

/// Eliminates the pivots of an LU factorisation, and records their order.
template <class T>
__device__ void eliminate_with_exchanges(const FactorArrays<T>& arrays, const Front& front,
                                         const SharedFront<T>& F) {
  __shared__ int order[small_orders[small_classes - 1]];
  __shared__ int exchanges[small_block];
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int i = thread; i < front.pivots; i += threads) order[i] = i;
  __syncthreads();
  for (int p = 0; p < front.pivots; p += small_block) {
    const int width = min(small_block, front.pivots - p);
    if (warp_id() == 0) factor_pivotal_rows(arrays, front, F, p, width, order, exchanges);
    __syncthreads();
    solve_rows_and_columns(arrays, F, p, width, exchanges);
    update_rest<T, FactorKind::lu>(F, p, width);
  }
  for (int i = thread; i < front.pivots; i += threads) arrays.position[front.first + order[i]] = i;
}

/// Eliminates the pivots in their order.
template <class T, FactorKind kind>
__device__ void eliminate_on_diagonal(const FactorArrays<T>& arrays, const Front& front,
                                      const SharedFront<T>& F) {
  __shared__ T reciprocals[small_block];
  if (warp_id() == 0 && front.pivots > 0) factor_diagonal<T, kind>(arrays, front, F, 0, reciprocals);
  __syncthreads();
  for (int p = 0; p < front.pivots; p += small_block) {
    const int width = min(small_block, front.pivots - p);
    solve_beside<T, kind>(arrays, F, p, width, reciprocals);
    update_and_factor<T, kind>(arrays, front, F, p, width, reciprocals);
  }
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
template <class T, FactorKind kind, PivotChoice choice>
__global__ void factor_small_fronts(FactorArrays<T> arrays, const std::int32_t* list, int leading) {
  extern __shared__ __align__(16) unsigned char storage[];
  const Front front = arrays.fronts[list[blockIdx.x]];
  const SharedFront<T> F{reinterpret_cast<T*>(storage), leading, front.rows, front.pivots};
  load_front<T, kind>(arrays, front, F);
  add_children<T, kind>(arrays, front, F);
  if constexpr (choice == PivotChoice::largest) {
    eliminate_with_exchanges(arrays, front, F);
  } else {
    eliminate_on_diagonal<T, kind>(arrays, front, F);
  }
  store_front<T, kind>(arrays, front, F);
}

}  // namespace echelon::sparse_direct::gpu

// SPDX-License-Identifier: BSD-3-Clause
/// Forward and backward substitution over the tree of fronts. blockIdx.z is the right-hand side.
///
/// x holds a vector of the permuted system and is overwritten. V holds `rows` elements for each front: of its
/// pivots, and of its border, where contributions to the parent are summed without atomic operations, always
/// in the same order.
#pragma once

#include "sparse_direct/multifrontal/cuda/arrays.cuh"

namespace echelon::sparse_direct::gpu {

inline constexpr int substitution_columns = 32;
inline constexpr int substitution_threads = 256;

/// A triangular factor of a front: element (i, c) of the triangle is panel(c, i) if `by_rows` is set, else
/// panel(i, c).
template <class T, bool by_rows, bool unit_diagonal>
struct Triangle {
  const T* panel;
  int leading;
  __device__ T operator()(int i, int c) const {
    return by_rows ? panel[c + std::int64_t{i} * leading] : panel[i + std::int64_t{c} * leading];
  }
};

/// A diagonal block of a triangle in shared memory, with the reciprocals of its diagonal: reading it from
/// global memory would delay each of the substitution's dependent steps.
template <class T>
struct DiagonalBlock {
  T elements[substitution_columns][substitution_columns + 1];  ///< [column][row]
  T reciprocals[substitution_columns];

  /// Called by all threads of a block, which wait for each other.
  template <bool by_rows, bool unit_diagonal>
  __device__ void load(const Triangle<T, by_rows, unit_diagonal>& triangle, int p, int width) {
    for (int t = static_cast<int>(threadIdx.x); t < width * width; t += static_cast<int>(blockDim.x)) {
      const int i = by_rows ? t / width : t % width;
      const int c = by_rows ? t % width : t / width;
      const T element = triangle(p + i, p + c);
      elements[c][i] = element;
      if (i == c) reciprocals[c] = unit_diagonal ? T{1} : 1 / element;
    }
    __syncthreads();
  }

  /// Solves with the block for one vector, whose element l is lane l's `value`; `forward` tells the
  /// triangle's shape.
  template <bool forward>
  __device__ T solve(int width, T value) const {
    const int lane = lane_id();
    for (int step = 0; step < width; ++step) {
      const int c = forward ? step : width - 1 - step;
      if (lane == c) value *= reciprocals[c];
      const T solved = __shfl_sync(full_warp, value, c);
      if (lane < width && (forward ? lane > c : lane < c)) value -= elements[c][lane] * solved;
    }
    return value;
  }
};

/// What a substitution reads of a front: its triangle, and the border's rows of a factor.
template <class T>
struct Border {
  const T* elements;  ///< (rows - pivots) x pivots
  int leading;
};

template <class T>
struct SubstitutionArrays {
  const Front* fronts;
  const std::int32_t* children;
  const std::int32_t* relative;
  const std::int32_t* border_rows;  ///< of the permuted matrix, by Front::border
  const std::int32_t* position;     ///< nullptr where pivots are not exchanged
  const T* factor;
  T* x;
  T* V;
  std::int64_t leading_x;
  std::int64_t leading_v;

  __device__ T* vector(const Front& front) const { return V + front.vector + blockIdx.z * leading_v; }
  __device__ T* solution() const { return x + blockIdx.z * leading_x; }
  __device__ Border<T> border(const Front& front, bool from_row_panel) const {
    return from_row_panel ? Border<T>{factor + front.row_panel, front.rows - front.pivots}
                          : Border<T>{factor + front.panel + front.pivots, front.rows};
  }
};

/// V = the right-hand side at the pivots, exchanged if asked, plus the children's contributions.
template <class T>
__device__ void gather_right_hand_side(const SubstitutionArrays<T>& arrays, const Front& front,
                                       bool exchange) {
  T* const V = arrays.vector(front);
  const T* const x = arrays.solution() + front.first;
  const std::int32_t* const position = arrays.position + front.first;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int i = thread; i < front.rows; i += threads) {
    if (i >= front.pivots) {
      V[i] = 0;
    } else {
      V[exchange ? position[i] : i] = x[i];
    }
  }
  __syncthreads();
  for (int c = front.child_begin; c < front.child_end; ++c) {
    const Front child = arrays.fronts[arrays.children[c]];
    const T* const contribution = arrays.vector(child) + child.pivots;
    const std::int32_t* const relative = arrays.relative + child.border;
    for (int i = thread; i < child.rows - child.pivots; i += threads) {
      const int row = relative[i];
      V[exchange && row < front.pivots ? position[row] : row] += contribution[i];
    }
    __syncthreads();
  }
}

/// Forward substitution of small fronts, one block each.
template <class T, bool by_rows, bool unit_diagonal, bool row_panel>
__global__ void substitute_small_fronts_forward(SubstitutionArrays<T> arrays, const std::int32_t* list,
                                                bool exchange) {
  __shared__ T y[substitution_columns];
  __shared__ DiagonalBlock<T> block;
  const Front front = arrays.fronts[list[blockIdx.x]];
  gather_right_hand_side(arrays, front, exchange);
  const Triangle<T, by_rows, unit_diagonal> triangle{arrays.factor + front.panel, front.rows};
  const Border<T> border = arrays.border(front, row_panel);
  T* const V = arrays.vector(front);
  for (int p = 0; p < front.pivots; p += substitution_columns) {
    const int width = min(substitution_columns, front.pivots - p);
    block.load(triangle, p, width);
    if (warp_id() == 0) {
      const T value = lane_id() < width ? V[p + lane_id()] : T{};
      y[lane_id()] = block.template solve<true>(width, value);
      if (lane_id() < width) arrays.solution()[front.first + p + lane_id()] = y[lane_id()];
    }
    __syncthreads();
    for (int i = p + width + static_cast<int>(threadIdx.x); i < front.rows;
         i += static_cast<int>(blockDim.x)) {
      T sum = 0;
      for (int c = 0; c < width; ++c) {
        sum += y[c] * (i < front.pivots
                           ? triangle(i, p + c)
                           : border.elements[i - front.pivots + std::int64_t{p + c} * border.leading]);
      }
      V[i] -= sum;
    }
    __syncthreads();
  }
}

/// Backward substitution of small fronts, one block each.
template <class T, bool by_rows, bool unit_diagonal, bool row_panel>
__global__ void substitute_small_fronts_backward(SubstitutionArrays<T> arrays, const std::int32_t* list,
                                                 bool exchange) {
  __shared__ T y[substitution_columns];
  __shared__ DiagonalBlock<T> block;
  const Front front = arrays.fronts[list[blockIdx.x]];
  const Triangle<T, by_rows, unit_diagonal> triangle{arrays.factor + front.panel, front.rows};
  const Border<T> border = arrays.border(front, row_panel);
  T* const V = arrays.vector(front);
  T* const x = arrays.solution();
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int i = front.pivots + thread; i < front.rows; i += threads) {
    V[i] = x[arrays.border_rows[front.border + i - front.pivots]];
  }
  __syncthreads();
  for (int c = warp_id(); c < front.pivots; c += block_warps()) {
    T sum = 0;
    for (int i = lane_id(); i < front.rows - front.pivots; i += warp_size) {
      sum += border.elements[i + std::int64_t{c} * border.leading] * V[front.pivots + i];
    }
    sum = warp_reduce(sum, Plus());
    if (lane_id() == 0) V[c] = x[front.first + c] - sum;
  }
  __syncthreads();
  const int last = (front.pivots - 1) / substitution_columns * substitution_columns;
  for (int p = last; p >= 0; p -= substitution_columns) {
    const int width = min(substitution_columns, front.pivots - p);
    block.load(triangle, p, width);
    if (warp_id() == 0) {
      const T value = lane_id() < width ? V[p + lane_id()] : T{};
      y[lane_id()] = block.template solve<false>(width, value);
      if (lane_id() < width) V[p + lane_id()] = y[lane_id()];
    }
    __syncthreads();
    for (int i = thread; i < p; i += threads) {
      T sum = 0;
      for (int c = 0; c < width; ++c) sum += y[c] * triangle(i, p + c);
      V[i] -= sum;
    }
    __syncthreads();
  }
  for (int i = thread; i < front.pivots; i += threads) {
    x[front.first + i] = V[exchange ? arrays.position[front.first + i] : i];
  }
}

template <class T>
__global__ void gather_large_fronts(SubstitutionArrays<T> arrays, const std::int32_t* list, bool exchange) {
  gather_right_hand_side(arrays, arrays.fronts[list[blockIdx.y]], exchange);
}

/// One step of the forward substitution of large fronts: every block solves the diagonal block anew, and
/// subtracts the product with its rows of the columns below. The solved elements go to x, since other blocks
/// read V.
template <class T, bool by_rows, bool unit_diagonal, bool row_panel>
__global__ void substitute_large_fronts_forward(SubstitutionArrays<T> arrays, const std::int32_t* list,
                                                int p) {
  __shared__ T y[substitution_columns];
  __shared__ DiagonalBlock<T> block;
  const Front front = arrays.fronts[list[blockIdx.y]];
  const int width = min(substitution_columns, front.pivots - p);
  const int first = p + width + static_cast<int>(blockIdx.x) * substitution_threads;
  if (width <= 0 || (first >= front.rows && blockIdx.x > 0)) return;
  const Triangle<T, by_rows, unit_diagonal> triangle{arrays.factor + front.panel, front.rows};
  const Border<T> border = arrays.border(front, row_panel);
  T* const V = arrays.vector(front);
  block.load(triangle, p, width);
  if (warp_id() == 0) {
    const T value = lane_id() < width ? V[p + lane_id()] : T{};
    y[lane_id()] = block.template solve<true>(width, value);
    if (blockIdx.x == 0 && lane_id() < width) arrays.solution()[front.first + p + lane_id()] = y[lane_id()];
  }
  __syncthreads();
  const int i = first + static_cast<int>(threadIdx.x);
  if (i >= front.rows) return;
  T sum = 0;
  if (i < front.pivots) {
    for (int c = 0; c < width; ++c) sum += y[c] * triangle(i, p + c);
  } else {
    const T* const row = border.elements + i - front.pivots;
    for (int c = 0; c < width; ++c) sum += y[c] * row[std::int64_t{p + c} * border.leading];
  }
  V[i] -= sum;
}

/// The border's part of the backward substitution of large fronts: V = x - (border's rows)^T x(border), a
/// warp for each pivot.
template <class T, bool row_panel>
__global__ void subtract_borders(SubstitutionArrays<T> arrays, const std::int32_t* list) {
  const Front front = arrays.fronts[list[blockIdx.y]];
  const int c = static_cast<int>(blockIdx.x) * block_warps() + warp_id();
  if (c >= front.pivots) return;
  const Border<T> border = arrays.border(front, row_panel);
  const T* const column = border.elements + std::int64_t{c} * border.leading;
  const std::int32_t* const rows = arrays.border_rows + front.border;
  const T* const x = arrays.solution();
  T sum = 0;
  for (int i = lane_id(); i < front.rows - front.pivots; i += warp_size) sum += column[i] * x[rows[i]];
  sum = warp_reduce(sum, Plus());
  if (lane_id() == 0) arrays.vector(front)[c] = x[front.first + c] - sum;
}

/// One step of the backward substitution among the pivots of large fronts, from the step's columns to those
/// before. Solved elements go to x, at the place of their row before the exchanges if asked.
template <class T, bool by_rows, bool unit_diagonal>
__global__ void substitute_large_fronts_backward(SubstitutionArrays<T> arrays, const std::int32_t* list,
                                                 int p) {
  __shared__ T y[substitution_columns];
  __shared__ DiagonalBlock<T> block;
  const Front front = arrays.fronts[list[blockIdx.y]];
  const int width = min(substitution_columns, front.pivots - p);
  const int first = static_cast<int>(blockIdx.x) * substitution_threads;
  if (width <= 0 || (first >= p && blockIdx.x > 0)) return;
  const Triangle<T, by_rows, unit_diagonal> triangle{arrays.factor + front.panel, front.rows};
  T* const V = arrays.vector(front);
  block.load(triangle, p, width);
  if (warp_id() == 0) {
    const T value = lane_id() < width ? V[p + lane_id()] : T{};
    y[lane_id()] = block.template solve<false>(width, value);
    if (blockIdx.x == 0 && lane_id() < width) arrays.solution()[front.first + p + lane_id()] = y[lane_id()];
  }
  __syncthreads();
  const int i = first + static_cast<int>(threadIdx.x);
  if (i >= p) return;
  T sum = 0;
  for (int c = 0; c < width; ++c) sum += y[c] * triangle(i, p + c);
  V[i] -= sum;
}

/// Puts the pivots' elements of x to the rows' places before the exchanges. V serves as the copy.
template <class T>
__global__ void undo_exchanges(SubstitutionArrays<T> arrays, const std::int32_t* list) {
  const Front front = arrays.fronts[list[blockIdx.y]];
  T* const V = arrays.vector(front);
  T* const x = arrays.solution() + front.first;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int i = thread; i < front.pivots; i += threads) V[i] = x[i];
  __syncthreads();
  for (int i = thread; i < front.pivots; i += threads) x[i] = V[arrays.position[front.first + i]];
}

}  // namespace echelon::sparse_direct::gpu

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
inline constexpr int substitution_threads = 512;
/// Rows of a large front that one block updates, by substitution_threads threads.
inline constexpr int substitution_rows = 64;

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

/// Rows of a factor at the border of a front.
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
  const T* inverses;
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

/// Rows of a large front that a thread block gathers, one for each thread.
inline constexpr int gathered_rows = 256;

/// V of large fronts as by gather_right_hand_side; blockIdx.x: rows of the front.
template <class T>
__global__ void gather_large_fronts(SubstitutionArrays<T> arrays, const std::int32_t* list, bool exchange) {
  const Front front = arrays.fronts[list[blockIdx.y]];
  const int first = static_cast<int>(blockIdx.x) * gathered_rows;
  if (first >= front.rows) return;
  T* const V = arrays.vector(front);
  const std::int32_t* const position = arrays.position + front.first;
  const auto place = [&](int row) { return exchange && row < front.pivots ? position[row] : row; };
  const int thread = static_cast<int>(threadIdx.x);
  if (const int i = first + thread; i < front.rows)
    V[place(i)] = i < front.pivots ? arrays.solution()[front.first + i] : T{};
  __syncthreads();
  for (int c = front.child_begin; c < front.child_end; ++c) {
    const Front child = arrays.fronts[arrays.children[c]];
    const int border = child.rows - child.pivots;
    const T* const contribution = arrays.vector(child) + child.pivots;
    const std::int32_t* const relative = arrays.relative + child.border;
    const int i = lower_bound(relative, border, first) + thread;
    if (i < border && relative[i] < first + gathered_rows) V[place(relative[i])] += contribution[i];
    __syncthreads();
  }
}

/// A diagonal block of a large front, and its inverse by rows.
template <class T>
struct InverseBlock {
  const T* elements;  ///< width x width
  int first;          ///< pivot
  int width;          ///< 0 for a front that has fewer blocks
};

/// The block of a step: of L, or of the transpose of U.
template <class T>
__device__ InverseBlock<T> inverse_block(const SubstitutionArrays<T>& arrays, const Front& front, int step,
                                         bool upper) {
  const InverseBlocks blocks(front.pivots);
  return {arrays.inverses + front.inverse + (upper ? blocks.entries() : 0) + blocks.offset(step),
          step * blocks.order, max(0, blocks.width(step))};
}

/// The block's elements of V to shared memory.
template <class T>
__device__ void load_vector(const SubstitutionArrays<T>& arrays, const Front& front,
                            const InverseBlock<T>& block, T* w) {
  const T* const V = arrays.vector(front) + block.first;
  for (int i = static_cast<int>(threadIdx.x); i < block.width; i += static_cast<int>(blockDim.x)) w[i] = V[i];
  __syncthreads();
}

/// A step of the forward substitution, at the diagonal block: x = inverse * V, a row for each warp.
/// blockIdx.x: rows of the block.
template <class T>
__global__ void solve_diagonal_blocks_forward(SubstitutionArrays<T> arrays, const std::int32_t* list,
                                              int step, bool upper) {
  __shared__ T w[largest_inverse_order];
  const Front front = arrays.fronts[list[blockIdx.y]];
  const InverseBlock<T> block = inverse_block(arrays, front, step, upper);
  if (static_cast<int>(blockIdx.x) * block_warps() >= block.width) return;
  load_vector(arrays, front, block, w);
  const int i = static_cast<int>(blockIdx.x) * block_warps() + warp_id();
  if (i >= block.width) return;
  const T* const row = block.elements + std::int64_t{i} * block.width;
  T sum = 0;
#pragma unroll 4
  for (int c = lane_id(); c <= i; c += warp_size) sum += row[c] * w[c];
  sum = warp_reduce(sum, Plus());
  if (lane_id() == 0) arrays.solution()[front.first + block.first + i] = sum;
}

/// A step of the backward substitution, at the diagonal block: x = inverse^T * V. blockIdx.x: 32 columns of
/// the block, whose elements the 32 warps divide.
template <class T>
__global__ void solve_diagonal_blocks_backward(SubstitutionArrays<T> arrays, const std::int32_t* list,
                                               int step, bool upper) {
  __shared__ T w[largest_inverse_order];
  __shared__ T partial[warp_size][warp_size + 1];
  const Front front = arrays.fronts[list[blockIdx.y]];
  const InverseBlock<T> block = inverse_block(arrays, front, step, upper);
  const int first = static_cast<int>(blockIdx.x) * warp_size;
  if (first >= block.width) return;
  load_vector(arrays, front, block, w);
  const int j = first + lane_id();
  T sum = 0;
#pragma unroll 4
  for (int i = first + warp_id(); i < block.width; i += warp_size) {
    if (j <= i) sum += block.elements[std::int64_t{i} * block.width + j] * w[i];
  }
  partial[warp_id()][lane_id()] = sum;
  __syncthreads();
  const T total = warp_reduce(partial[lane_id()][warp_id()], Plus());
  if (lane_id() == 0 && first + warp_id() < block.width)
    arrays.solution()[front.first + block.first + first + warp_id()] = total;
}

/// V(i) -= sum of row i's elements times y for substitution_rows rows from `first` on, below `end`; rows are
/// contiguous: a warp takes one at a time.
template <class T, class Row>
__device__ void subtract_contiguous_rows(T* V, int first, int end, int width, const T* y, Row row) {
  for (int i = first + warp_id(); i < min(first + substitution_rows, end); i += block_warps()) {
    const T* const elements = row(i);
    T sum = 0;
#pragma unroll 4
    for (int c = lane_id(); c < width; c += warp_size) sum += elements[c] * y[c];
    sum = warp_reduce(sum, Plus());
    if (lane_id() == 0) V[i] -= sum;
  }
}

/// Counterpart of subtract_contiguous_rows for rows whose elements are `leading` apart: eight threads for
/// each row. All threads of the block call it.
template <class T, class Row>
__device__ void subtract_strided_rows(T* V, int first, int end, int width, const T* y, std::int64_t leading,
                                      Row row) {
  constexpr int groups = substitution_threads / substitution_rows;
  constexpr int columns = smallest_inverse_order / groups;
  __shared__ T partial[groups][substitution_rows];
  const int r = static_cast<int>(threadIdx.x) % substitution_rows;
  const int group = static_cast<int>(threadIdx.x) / substitution_rows;
  const int i = first + r;
  T sum = 0;
  if (i < end) {
    const T* const elements = row(i);
    for (int begin = group * columns; begin < width; begin += smallest_inverse_order) {
#pragma unroll
      for (int t = 0; t < columns; ++t) {
        const int c = begin + t;
        if (c < width) sum += elements[c * leading] * y[c];
      }
    }
  }
  partial[group][r] = sum;
  __syncthreads();
  if (group > 0 || i >= end) return;
  T total = 0;
  for (const T(&column)[substitution_rows] : partial) total += column[r];
  V[i] -= total;
}

template <class T>
__device__ void load_solution(const SubstitutionArrays<T>& arrays, const Front& front, int p, int width,
                              T* y) {
  const T* const x = arrays.solution() + front.first + p;
  for (int i = static_cast<int>(threadIdx.x); i < width; i += static_cast<int>(blockDim.x)) y[i] = x[i];
  __syncthreads();
}

/// A step of the forward substitution, at the rows below the diagonal block. blockIdx.x: tiles of the pivots,
/// then of the border.
template <class T, bool by_rows, bool row_panel>
__global__ void substitute_large_fronts_forward(SubstitutionArrays<T> arrays, const std::int32_t* list,
                                                int step) {
  __shared__ T y[largest_inverse_order];
  const Front front = arrays.fronts[list[blockIdx.y]];
  const InverseBlocks blocks(front.pivots);
  const int p = step * blocks.order;
  const int width = blocks.width(step);
  if (width <= 0) return;
  const int begin = p + width;
  const int pivot_tiles = (front.pivots - begin + substitution_rows - 1) / substitution_rows;
  const int tile = static_cast<int>(blockIdx.x);
  T* const V = arrays.vector(front);
  const T* const panel = arrays.factor + front.panel;
  load_solution(arrays, front, p, width, y);
  if (tile >= pivot_tiles) {
    const Border<T> border = arrays.border(front, row_panel);
    const int first = front.pivots + (tile - pivot_tiles) * substitution_rows;
    subtract_strided_rows(V, first, front.rows, width, y, border.leading, [&](int i) {
      return border.elements + i - front.pivots + std::int64_t{p} * border.leading;
    });
  } else if constexpr (by_rows) {
    subtract_contiguous_rows(V, begin + tile * substitution_rows, front.pivots, width, y,
                             [&](int i) { return panel + p + std::int64_t{i} * front.rows; });
  } else {
    subtract_strided_rows(V, begin + tile * substitution_rows, front.pivots, width, y, front.rows,
                          [&](int i) { return panel + i + std::int64_t{p} * front.rows; });
  }
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

/// A step of the backward substitution, at the pivots before the diagonal block.
template <class T, bool by_rows>
__global__ void substitute_large_fronts_backward(SubstitutionArrays<T> arrays, const std::int32_t* list,
                                                 int step) {
  __shared__ T y[largest_inverse_order];
  const Front front = arrays.fronts[list[blockIdx.y]];
  const InverseBlocks blocks(front.pivots);
  const int p = step * blocks.order;
  const int width = blocks.width(step);
  if (width <= 0) return;
  T* const V = arrays.vector(front);
  const T* const panel = arrays.factor + front.panel;
  load_solution(arrays, front, p, width, y);
  const int first = static_cast<int>(blockIdx.x) * substitution_rows;
  if constexpr (by_rows) {
    subtract_contiguous_rows(V, first, p, width, y,
                             [&](int i) { return panel + p + std::int64_t{i} * front.rows; });
  } else {
    subtract_strided_rows(V, first, p, width, y, front.rows,
                          [&](int i) { return panel + i + std::int64_t{p} * front.rows; });
  }
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

// SPDX-License-Identifier: BSD-3-Clause
/// Kernels for fronts in global memory, for all large fronts of a level together: blockIdx.y is the front.
/// Its pivots are eliminated in steps of `step_columns`; kernels of a step do nothing for fronts that have
/// fewer pivots.
#pragma once

#include "sparse_direct/multifrontal/cuda/arrays.cuh"

#include <echelon/matrix/operation.hpp>

#include <cmath>

namespace echelon::sparse_direct::gpu {

inline constexpr int step_columns = 32;
/// Columns of a front that one block of assemble_large_fronts fills.
inline constexpr int assembly_columns = 8;
/// Order of a tile of a product, and columns that it multiplies at a time: those of two products fill the
/// shared memory of a kernel.
inline constexpr int tile_order = 64;
template <class T>
inline constexpr int tile_depth = is_complex<T> ? 8 : 16;
inline constexpr int tile_threads = 256;
/// Rows that one block of the triangular solves of a step takes.
inline constexpr int solve_rows_per_block = 128;

/// Adds to the front's element (i, j), which may be in any of its parts.
template <class T, FactorKind kind>
struct FrontElements {
  T* panel;
  T* row_panel;
  T* update;
  int pivots;
  int rows;
  __device__ FrontElements(const FactorArrays<T>& arrays, const Front& front)
      : panel(arrays.factor + front.panel),
        row_panel(arrays.factor + front.row_panel),
        update(arrays.stack + front.update),
        pivots(front.pivots),
        rows(front.rows) {}
  __device__ T& operator()(int i, int j) const {
    const std::int64_t border = rows - pivots;
    if (j < pivots) return panel[i + std::int64_t{j} * rows];
    if (kind == FactorKind::lu && i < pivots) return row_panel[j - pivots + i * border];
    return update[i - pivots + (j - pivots) * border];
  }
};

/// Adds elements [begin, end) of a child's column to a column of its parent, by a warp. Rows differ, so that
/// loads of several elements may precede the stores.
template <FactorKind kind, class T>
__device__ void add_column(const FrontElements<T, kind>& F, const std::int32_t* rows, const T* source,
                           int column, int begin, int end) {
  constexpr int batch = 4;
  int i = begin + lane_id();
  for (; i + (batch - 1) * warp_size < end; i += batch * warp_size) {
    T* places[batch];
    T sums[batch];
#pragma unroll
    for (int t = 0; t < batch; ++t) places[t] = &F(rows[i + t * warp_size], column);
#pragma unroll
    for (int t = 0; t < batch; ++t) sums[t] = *places[t] + source[i + t * warp_size];
#pragma unroll
    for (int t = 0; t < batch; ++t) *places[t] = sums[t];
  }
  for (; i < end; i += warp_size) F(rows[i], column) += source[i];
}

/// Zeroes the update matrix and adds those of the children, one after the other. blockIdx.x: group of
/// assembly_columns columns of the front.
template <class T, FactorKind kind>
__global__ void assemble_large_fronts(FactorArrays<T> arrays, const std::int32_t* list) {
  const Front front = arrays.fronts[list[blockIdx.y]];
  const int begin = static_cast<int>(blockIdx.x) * assembly_columns;
  const int end = min(begin + assembly_columns, front.rows);
  if (begin >= front.rows) return;
  const FrontElements<T, kind> F(arrays, front);
  for (int j = max(begin, front.pivots) + warp_id(); j < end; j += block_warps()) {
    for (int i = (is_symmetric(kind) ? j : front.pivots) + lane_id(); i < front.rows; i += warp_size) {
      F(i, j) = T{};
    }
  }
  __syncthreads();
  for (int c = front.child_begin; c < front.child_end; ++c) {
    const Front child = arrays.fronts[arrays.children[c]];
    const std::int32_t* const relative = arrays.relative + child.border;
    const std::int32_t* const rows = arrays.relative_rows + child.border;
    const T* const update = arrays.stack + child.update;
    const int order = child.rows - child.pivots;
    const int last = lower_bound(relative, order, end);
    for (int j = lower_bound(relative, order, begin) + warp_id(); j < last; j += block_warps()) {
      const int column = relative[j];
      add_column<kind>(F, rows, update + std::int64_t{j} * order, column, is_symmetric(kind) ? j : 0, order);
    }
    __syncthreads();
  }
}

/// Factors the step's diagonal block in place, with the pivots on its diagonal, by a warp.
template <class T, FactorKind kind>
__device__ void factor_diagonal_block(const FactorArrays<T>& arrays, const Front& front, int p) {
  const int width = min(step_columns, front.pivots - p);
  if (width <= 0) return;
  constexpr bool lower = kind == FactorKind::cholesky;
  T* const block = arrays.factor + front.panel + p + std::int64_t{p} * front.rows;
  const int i = lane_id();
  T row[step_columns];
#pragma unroll
  for (int c = 0; c < step_columns; ++c)
    row[c] = i < width && (lower ? c <= i : c < width) ? block[i + std::int64_t{c} * front.rows] : T{};
  int failed = width;
  T reciprocal{};  // of the diagonal element; the rows below divide by that
  if constexpr (lower) {
    failed = factor_in_registers(row, width, reciprocal);
  } else {
    Real<T> multiplier = 0;
    failed = factor_lu_in_registers(row, width, multiplier, reciprocal);
    record_multiplier(arrays, multiplier);
  }
  if (i == 0 && failed < width) record_failure(arrays, front.first + p + failed);
#pragma unroll
  for (int c = 0; c < step_columns; ++c) {
    if (i < width && (lower ? c <= i : c < width)) block[i + std::int64_t{c} * front.rows] = row[c];
  }
}

/// Factors the first diagonal blocks, one warp for each front; update_panels factors those of later steps.
template <class T, FactorKind kind>
__global__ void factor_first_diagonal_blocks(FactorArrays<T> arrays, const std::int32_t* list) {
  factor_diagonal_block<T, kind>(arrays, arrays.fronts[list[blockIdx.y]], 0);
}

/// Completes L in the step's columns below the diagonal block, X = X L^-H for Cholesky and X = X U^-1 for LU,
/// and if blockIdx.z is 1, U in its rows to the right, X = L^-1 X. One row or column for each thread.
template <class T, FactorKind kind>
__global__ void solve_beside_diagonal(FactorArrays<T> arrays, const std::int32_t* list, int p) {
  __shared__ T block[step_columns][step_columns];  // block[column][row]
  const Front front = arrays.fronts[list[blockIdx.y]];
  const int width = min(step_columns, front.pivots - p);
  const int begin = p + width;
  const int first = begin + static_cast<int>(blockIdx.x) * solve_rows_per_block;
  if (width <= 0 || first >= front.rows) return;
  T* const panel = arrays.factor + front.panel;
  for (int t = static_cast<int>(threadIdx.x); t < width * width; t += solve_rows_per_block) {
    block[t / width][t % width] = panel[p + t % width + std::int64_t{p + t / width} * front.rows];
  }
  __syncthreads();
  const bool right = kind == FactorKind::lu && blockIdx.z == 1;
  const int k = first + static_cast<int>(threadIdx.x);
  const int border = front.rows - front.pivots;
  T* line = panel + k + std::int64_t{p} * front.rows;  // the elements of row k, or of column k
  std::int64_t stride = front.rows;
  if (right && k < front.pivots) {
    line = panel + p + std::int64_t{k} * front.rows;
    stride = 1;
  } else if (right) {
    line = arrays.factor + front.row_panel + (k - front.pivots) + std::int64_t{p} * border;
    stride = border;
  }
  Real<T> multiplier = 0;
  T x[step_columns];
#pragma unroll
  for (int c = 0; c < step_columns; ++c) {
    if (c >= width || k >= front.rows) break;
    T sum = line[c * stride];
#pragma unroll
    for (int q = 0; q < c; ++q)
      sum -= x[q] * (kind == FactorKind::cholesky || right ? mirrored<kind>(block[q][c]) : block[c][q]);
    x[c] = right ? sum : sum / block[c][c];
    line[c * stride] = x[c];
    multiplier = fmax(multiplier, cabs1(x[c]));
  }
  if (kind == FactorKind::lu && !right) record_multiplier(arrays, multiplier);
}

/// Finds a column's largest element among the rows that may become pivots, with all threads of the block,
/// which have read the column when it returns.
template <class T>
__device__ LargestInColumn<T> largest_in_column(const T* column, int begin, int end) {
  __shared__ Real<T> magnitudes[warp_size];
  __shared__ int rows[warp_size];
  LargestInColumn<T> largest{-1, begin};
  for (int i = begin + static_cast<int>(threadIdx.x); i < end; i += static_cast<int>(blockDim.x)) {
    const Real<T> magnitude = cabs1(column[i]);
    if (magnitude > largest.magnitude) largest = {magnitude, i};
  }
  largest.reduce_warp();
  if (lane_id() == 0) {
    magnitudes[warp_id()] = largest.magnitude;
    rows[warp_id()] = largest.row;
  }
  __syncthreads();
  largest = {-1, begin};
  if (lane_id() < block_warps()) largest = {magnitudes[lane_id()], rows[lane_id()]};
  largest.reduce_warp();
  __syncthreads();
  return largest;
}

/// Eliminates the step's columns in the rows that may become pivots, with the largest element of each column
/// as its pivot. One block for each front; dynamic shared memory for (pivots - p) * step_columns elements of
/// the first front of the list.
template <class T>
__global__ void factor_pivot_rows(FactorArrays<T> arrays, const std::int32_t* list, int p) {
  extern __shared__ __align__(16) unsigned char storage[];
  T* const S = reinterpret_cast<T*>(storage);
  const Front front = arrays.fronts[list[blockIdx.y]];
  const int height = front.pivots - p;
  const int width = min(step_columns, height);
  if (width <= 0) return;
  T* const block = arrays.factor + front.panel + p + std::int64_t{p} * front.rows;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int j = 0; j < width; ++j) {
    for (int i = thread; i < height; i += threads)
      S[i + j * height] = block[i + std::int64_t{j} * front.rows];
  }
  __syncthreads();
  Real<T> multiplier = 0;
  for (int c = 0; c < width; ++c) {
    const LargestInColumn<T> largest = largest_in_column(S + c * height, c, height);
    const int row = pivot_row(arrays, largest, c, S[c + c * height]);
    __syncthreads();  // all threads have read the diagonal
    if (thread == 0) {
      arrays.exchanges[front.first + p + c] = p + row;
      if (!(largest.magnitude > 0)) record_failure(arrays, front.first + p + c);
    }
    if (row != c && thread < width) {
      const T element = S[c + thread * height];
      S[c + thread * height] = S[row + thread * height];
      S[row + thread * height] = element;
    }
    __syncthreads();
    const T pivot = S[c + c * height];
    for (int i = c + 1 + thread; i < height; i += threads) {
      const T l = S[i + c * height] / pivot;
      S[i + c * height] = l;
      multiplier = fmax(multiplier, cabs1(l));
      for (int j = c + 1; j < width; ++j) S[i + j * height] -= l * S[c + j * height];
    }
    __syncthreads();
  }
  record_multiplier(arrays, multiplier);
  for (int j = 0; j < width; ++j) {
    for (int i = thread; i < height; i += threads)
      block[i + std::int64_t{j} * front.rows] = S[i + j * height];
  }
}

/// Applies the step's row exchanges to the other columns among the pivots, and completes the rows of U in
/// these columns. One column for each thread.
template <class T>
__global__ void exchange_pivot_rows(FactorArrays<T> arrays, const std::int32_t* list, int p) {
  __shared__ T L[step_columns][step_columns];  // L[column][row]
  __shared__ int exchanges[step_columns];
  const Front front = arrays.fronts[list[blockIdx.y]];
  const int width = min(step_columns, front.pivots - p);
  const int first = static_cast<int>(blockIdx.x) * solve_rows_per_block;
  if (width <= 0 || first >= front.pivots) return;
  T* const panel = arrays.factor + front.panel;
  for (int t = static_cast<int>(threadIdx.x); t < width * width; t += solve_rows_per_block) {
    L[t / width][t % width] = panel[p + t % width + std::int64_t{p + t / width} * front.rows];
  }
  if (static_cast<int>(threadIdx.x) < width)
    exchanges[threadIdx.x] = arrays.exchanges[front.first + p + threadIdx.x];
  __syncthreads();
  const int j = first + static_cast<int>(threadIdx.x);
  if (j >= front.pivots || (j >= p && j < p + width)) return;
  T* const column = panel + std::int64_t{j} * front.rows;
  for (int c = 0; c < width; ++c) {
    const int row = exchanges[c];
    const T element = column[p + c];
    column[p + c] = column[row];
    column[row] = element;
  }
  if (j < p) return;
  T x[step_columns];
#pragma unroll
  for (int c = 0; c < step_columns; ++c) {
    if (c >= width) break;
    T sum = column[p + c];
#pragma unroll
    for (int q = 0; q < c; ++q) sum -= L[q][c] * x[q];
    x[c] = sum;
    column[p + c] = sum;
  }
}

/// Solves X = X U^-1 in the step's columns below the pivots, and X = X L^-T in the row panel after the
/// exchanges. One row for each thread; blockIdx.z selects the panel.
template <class T>
__global__ void solve_borders(FactorArrays<T> arrays, const std::int32_t* list, int p) {
  __shared__ T block[step_columns][step_columns];  // block[column][row]
  __shared__ int exchanges[step_columns];
  const Front front = arrays.fronts[list[blockIdx.y]];
  const int width = min(step_columns, front.pivots - p);
  const int border = front.rows - front.pivots;
  const int first = static_cast<int>(blockIdx.x) * solve_rows_per_block;
  if (width <= 0 || first >= border) return;
  T* const panel = arrays.factor + front.panel;
  for (int t = static_cast<int>(threadIdx.x); t < width * width; t += solve_rows_per_block) {
    block[t / width][t % width] = panel[p + t % width + std::int64_t{p + t / width} * front.rows];
  }
  if (static_cast<int>(threadIdx.x) < width)
    exchanges[threadIdx.x] = arrays.exchanges[front.first + p + threadIdx.x];
  __syncthreads();
  const int i = first + static_cast<int>(threadIdx.x);
  const bool inside = i < border;
  T x[step_columns];
  if (blockIdx.z == 1) {
    if (!inside) return;
    T* const row = arrays.factor + front.row_panel + i;
    for (int c = 0; c < width; ++c) {
      T& here = row[std::int64_t{p + c} * border];
      T& there = row[std::int64_t{exchanges[c]} * border];
      const T element = here;
      here = there;
      there = element;
    }
#pragma unroll
    for (int c = 0; c < step_columns; ++c) {
      if (c >= width) break;
      T sum = row[std::int64_t{p + c} * border];
#pragma unroll
      for (int q = 0; q < c; ++q) sum -= x[q] * block[q][c];
      x[c] = sum;
      row[std::int64_t{p + c} * border] = sum;
    }
    return;
  }
  Real<T> multiplier = 0;
  if (inside) {
    T* const row = panel + front.pivots + i;
#pragma unroll
    for (int c = 0; c < step_columns; ++c) {
      if (c >= width) break;
      T sum = row[std::int64_t{p + c} * front.rows];
#pragma unroll
      for (int q = 0; q < c; ++q) sum -= x[q] * block[c][q];
      x[c] = sum / block[c][c];
      multiplier = fmax(multiplier, cabs1(x[c]));
      row[std::int64_t{p + c} * front.rows] = x[c];
    }
  }
  record_multiplier(arrays, multiplier);
}

/// Computes C = C - A op(B) in a tile at (row, column), where A has `rows` rows and `depth` columns, and
/// op(B) has `columns` columns. Elements above the diagonal of C do not change if `lower` is set. Each of
/// tile_threads threads of a block computes 4 by 4 elements.
template <class T, Operation operation>
struct TileProduct {
  static constexpr int depth_of_tile = tile_depth<T>;
  using Tile = T[depth_of_tile][tile_order];

  const T* A;
  const T* B;
  T* C;
  std::int64_t leading_a;
  std::int64_t leading_b;
  std::int64_t leading_c;
  int rows;
  int columns;
  int depth;
  bool lower;

  __device__ void load(Tile& a, Tile& b, int row, int column, int k) const {
    for (int t = static_cast<int>(threadIdx.x); t < tile_order * depth_of_tile; t += tile_threads) {
      const int i = t % tile_order;
      const int q = t / tile_order;
      a[q][i] = row + i < rows && k + q < depth ? A[row + i + (k + q) * leading_a] : T{};
      if constexpr (operation != Operation::none) {
        const T element = column + i < columns && k + q < depth ? B[column + i + (k + q) * leading_b] : T{};
        b[q][i] = operation == Operation::adjoint ? conj(element) : element;
      }
    }
    if constexpr (operation == Operation::none) {
      for (int t = static_cast<int>(threadIdx.x); t < tile_order * depth_of_tile; t += tile_threads) {
        const int q = t % depth_of_tile;
        const int j = t / depth_of_tile;
        b[q][j] = column + j < columns && k + q < depth ? B[k + q + (column + j) * leading_b] : T{};
      }
    }
  }

  __device__ void subtract(int row, int column) const {
    __shared__ Tile a;
    __shared__ Tile b;
    const int i0 = static_cast<int>(threadIdx.x) % 16;
    const int j0 = static_cast<int>(threadIdx.x) / 16;
    T sums[4][4] = {};
    for (int k = 0; k < depth; k += depth_of_tile) {
      load(a, b, row, column, k);
      __syncthreads();
#pragma unroll
      for (int q = 0; q < depth_of_tile; ++q) {
        T left[4];
        T right[4];
#pragma unroll
        for (int t = 0; t < 4; ++t) {
          left[t] = a[q][i0 + 16 * t];
          right[t] = b[q][j0 + 16 * t];
        }
#pragma unroll
        for (int u = 0; u < 4; ++u) {
#pragma unroll
          for (int t = 0; t < 4; ++t) multiply_add(sums[u][t], left[t], right[u]);
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (int u = 0; u < 4; ++u) {
#pragma unroll
      for (int t = 0; t < 4; ++t) {
        const int i = row + i0 + 16 * t;
        const int j = column + j0 + 16 * u;
        if (i < rows && j < columns && (!lower || i >= j)) C[i + j * leading_c] -= sums[u][t];
      }
    }
  }
};

/// Updates the columns to the right of the step's, among the pivots: A = A - L U. blockIdx.x: tile;
/// blockIdx.z: panel or row panel. With pivots on the diagonal the block of the first tile also factors the
/// next diagonal block.
template <class T, FactorKind kind, PivotChoice choice>
__global__ void update_panels(FactorArrays<T> arrays, const std::int32_t* list, int p) {
  const Front front = arrays.fronts[list[blockIdx.y]];
  const int width = min(step_columns, front.pivots - p);
  const int begin = p + width;
  const int columns = front.pivots - begin;
  if (width <= 0 || columns <= 0) return;
  const int column_tiles = (columns + tile_order - 1) / tile_order;
  const int column = static_cast<int>(blockIdx.x) % column_tiles * tile_order;
  const int row = static_cast<int>(blockIdx.x) / column_tiles * tile_order;
  const int border = front.rows - front.pivots;
  T* const panel = arrays.factor + front.panel;
  const std::int64_t leading = front.rows;
  if (blockIdx.z == 1) {
    if (row >= border) return;
    T* const row_panel = arrays.factor + front.row_panel;
    const TileProduct<T, Operation::transpose> product{.A = row_panel + std::int64_t{p} * border,
                                                       .B = panel + begin + p * leading,
                                                       .C = row_panel + std::int64_t{begin} * border,
                                                       .leading_a = border,
                                                       .leading_b = leading,
                                                       .leading_c = border,
                                                       .rows = border,
                                                       .columns = columns,
                                                       .depth = width,
                                                       .lower = false};
    product.subtract(row, column);
    return;
  }
  const int rows = front.rows - begin;
  if (row >= rows) return;
  const T* const left = panel + begin + p * leading;
  T* const target = panel + begin + begin * leading;
  if constexpr (kind == FactorKind::cholesky) {
    if (row + tile_order <= column) return;
    const TileProduct<T, Operation::adjoint> product{.A = left,
                                                     .B = left,
                                                     .C = target,
                                                     .leading_a = leading,
                                                     .leading_b = leading,
                                                     .leading_c = leading,
                                                     .rows = rows,
                                                     .columns = columns,
                                                     .depth = width,
                                                     .lower = true};
    product.subtract(row, column);
  } else {
    const TileProduct<T, Operation::none> product{.A = left,
                                                  .B = panel + p + begin * leading,
                                                  .C = target,
                                                  .leading_a = leading,
                                                  .leading_b = leading,
                                                  .leading_c = leading,
                                                  .rows = rows,
                                                  .columns = columns,
                                                  .depth = width,
                                                  .lower = false};
    product.subtract(row, column);
  }
  if (choice == PivotChoice::largest || blockIdx.x != 0) return;
  __syncthreads();
  if (warp_id() == 0) factor_diagonal_block<T, kind>(arrays, front, begin);
}

/// Subtracts the products of the finished panels from the update matrices.
template <class T, FactorKind kind>
__global__ void update_schur_complements(FactorArrays<T> arrays, const std::int32_t* list) {
  const Front front = arrays.fronts[list[blockIdx.y]];
  const int border = front.rows - front.pivots;
  const int tiles = (border + tile_order - 1) / tile_order;
  if (static_cast<int>(blockIdx.x) >= tiles * tiles) return;
  const int row = static_cast<int>(blockIdx.x) % tiles * tile_order;
  const int column = static_cast<int>(blockIdx.x) / tiles * tile_order;
  constexpr bool lower = kind == FactorKind::cholesky;
  if (lower && row < column) return;
  const T* const left = arrays.factor + front.panel + front.pivots;
  const T* const right = lower ? left : arrays.factor + front.row_panel;
  constexpr Operation operation = lower ? Operation::adjoint : Operation::transpose;
  const TileProduct<T, operation> product{.A = left,
                                          .B = right,
                                          .C = arrays.stack + front.update,
                                          .leading_a = front.rows,
                                          .leading_b = lower ? front.rows : border,
                                          .leading_c = border,
                                          .rows = border,
                                          .columns = border,
                                          .depth = front.pivots,
                                          .lower = lower};
  product.subtract(row, column);
}

/// Computes the positions of the pivot rows after all exchanges of a front; one thread for each front.
template <class T>
__global__ void find_positions(FactorArrays<T> arrays, const std::int32_t* list, std::int32_t* order) {
  const Front front = arrays.fronts[list[blockIdx.x]];
  std::int32_t* const rows = order + front.first;
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  for (int i = thread; i < front.pivots; i += threads) rows[i] = i;
  __syncthreads();
  if (thread == 0) {
    for (int i = 0; i < front.pivots; ++i) {
      const int other = arrays.exchanges[front.first + i];
      const std::int32_t row = rows[i];
      rows[i] = rows[other];
      rows[other] = row;
    }
  }
  __syncthreads();
  for (int i = thread; i < front.pivots; i += threads) arrays.position[front.first + rows[i]] = i;
}

}  // namespace echelon::sparse_direct::gpu

// SPDX-License-Identifier: BSD-3-Clause
/// Kernels for LU factors of batches of matrices that one block cannot hold, panel by panel, as LINPACK's
/// dgefa stores them: the exchanges of a panel are those of its rows and of the columns to its right, and
/// columns to its left are not exchanged. One block for each matrix, or for some columns of it.
#pragma once

#include "backend/cuda/warp.cuh"

#include <echelon/batched.hpp>

#include <climits>
#include <cmath>
#include <cstdint>

namespace echelon::batch_kernels {

/// Most columns of a panel.
inline constexpr int most_panel_columns = 128;
/// Columns that are eliminated one after the other, and order of the diagonal blocks that a thread solves
/// with.
inline constexpr int most_leaf_columns = 16;
inline constexpr int leaf_threads = 512;
inline constexpr int apply_threads = 256;
/// Columns of a matrix for one block of apply_panels and solve_upper_panels.
inline constexpr int applied_columns = 32;

/// Factors of a batch in panels.
template <class T>
struct PanelFactors {
  T* a;
  std::int64_t leading, stride;
  int n;
  std::int32_t* pivots;  ///< the row exchanged with row k, n for each matrix; null for Cholesky's method
  BatchOutcome* outcomes;

  [[nodiscard]] __device__ T* matrix(std::int64_t number) const { return a + number * stride; }
  [[nodiscard]] __device__ bool failed(std::int64_t number) const {
    return outcomes[number].status != Status::direct;
  }
};

/// Columns of each matrix of a batch: of the factors, or right-hand sides.
template <class T>
struct BatchColumns {
  T* first;
  std::int64_t leading, stride;
  int count;
};

/// Rows that the exchanges of a panel move, for each matrix: the row at place k of the panel comes from
/// `origin[k]`, and the row far_row[s] below the panel from far_origin[s].
struct PanelExchanges {
  std::int32_t origin[most_panel_columns];
  std::int32_t far_row[most_panel_columns];
  std::int32_t far_origin[most_panel_columns];
  std::int32_t far_count;
};

/// Stores the least magnitude of a pivot of each matrix, tolerance ||A||_inf, and the outcome `direct`.
template <class T>
__global__ void find_pivot_limits(PanelFactors<T> factors, double tolerance, double* limits) {
  __shared__ double largest[warp_size];
  const T* const a = factors.matrix(blockIdx.x);
  double norm = 0;
  for (int i = static_cast<int>(threadIdx.x); i < factors.n; i += static_cast<int>(blockDim.x)) {
    double sum = 0;
    for (int j = 0; j < factors.n; ++j) sum += fabs(static_cast<double>(a[i + j * factors.leading]));
    norm = fmax(norm, sum);
  }
  norm = warp_reduce(norm, Maximum());
  if (lane_id() == 0) largest[threadIdx.x / warp_size] = norm;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned w = 1; w < blockDim.x / warp_size; ++w) norm = fmax(norm, largest[w]);
  limits[blockIdx.x] = tolerance * norm;
  factors.outcomes[blockIdx.x] = {};
}

/// The element of the largest magnitude of a column, and the first row that has it; NaN is the largest.
template <class T>
struct ColumnPivot {
  T magnitude;
  int row;
  __device__ void take_larger(T other, int other_row) {
    const bool larger = other > magnitude || other != other;
    if ((larger && magnitude == magnitude) || (other == magnitude && other_row < row)) {
      magnitude = other;
      row = other_row;
    }
  }
};

/// The pivot of all threads' candidates; all threads of the block call it.
template <class T>
__device__ ColumnPivot<T> block_pivot(ColumnPivot<T> own) {
  __shared__ ColumnPivot<T> candidates[leaf_threads / warp_size];
  const auto reduce = [&](int width) {
    for (int delta = width / 2; delta > 0; delta /= 2) {
      const T magnitude = __shfl_xor_sync(full_warp, own.magnitude, delta);
      const int row = __shfl_xor_sync(full_warp, own.row, delta);
      own.take_larger(magnitude, row);
    }
  };
  reduce(warp_size);
  if (lane_id() == 0) candidates[threadIdx.x / warp_size] = own;
  __syncthreads();
  constexpr int warps = leaf_threads / warp_size;
  own = candidates[lane_id() % warps];
  reduce(warps);
  return own;
}

/// Eliminates columns [begin, begin + width) in the rows from `begin` on. Dynamic shared memory for
/// (n - begin) * width elements.
template <class T>
__global__ void __launch_bounds__(leaf_threads)
    factor_leaves(PanelFactors<T> factors, int begin, int width, const double* limits) {
  extern __shared__ __align__(16) unsigned char storage[];
  T* const S = reinterpret_cast<T*>(storage);
  const std::int64_t matrix = blockIdx.x;
  if (factors.failed(matrix)) return;
  const int thread = static_cast<int>(threadIdx.x);
  const int rows = factors.n - begin;
  T* const a = factors.matrix(matrix) + begin + begin * factors.leading;
  std::int32_t* const pivots = factors.pivots + matrix * factors.n + begin;
  ColumnPivot<T> own{-1, INT_MAX};
  for (int c = 0; c < width; ++c) {
    for (int i = thread; i < rows; i += leaf_threads) {
      const T element = a[i + c * factors.leading];
      S[i + c * rows] = element;
      if (c == 0) own.take_larger(fabs(element), i);
    }
  }
  for (int c = 0; c < width; ++c) {
    const ColumnPivot<T> pivot = block_pivot(own);
    const bool finite = isfinite(static_cast<double>(pivot.magnitude)) && isfinite(T{1} / pivot.magnitude);
    if (!(finite && static_cast<double>(pivot.magnitude) > limits[matrix])) {
      const bool too_small = static_cast<double>(pivot.magnitude) <= limits[matrix];
      if (thread == 0)
        factors.outcomes[matrix] = {too_small ? Status::singular : Status::not_a_number, begin + c};
      return;
    }
    if (thread == 0) pivots[c] = begin + pivot.row;
    if (thread < width && pivot.row != c) {
      T& here = S[c + thread * rows];
      T& there = S[pivot.row + thread * rows];
      const T element = here;
      here = there;
      there = element;
    }
    __syncthreads();
    const T reciprocal = T{1} / S[c + c * rows];
    own = {-1, INT_MAX};
    for (int i = thread; i < rows; i += leaf_threads) {
      if (i <= c) continue;
      const T l = S[i + c * rows] * reciprocal;
      S[i + c * rows] = l;
      for (int j = c + 1; j < width; ++j) S[i + j * rows] -= l * S[c + j * rows];
      if (c + 1 < width) own.take_larger(fabs(S[i + (c + 1) * rows]), i);
    }
  }
  for (int c = 0; c < width; ++c) {
    for (int i = thread; i < rows; i += leaf_threads) a[i + c * factors.leading] = S[i + c * rows];
  }
}

/// Composes the exchanges of columns [begin, begin + width); one warp for each matrix.
template <class T>
__global__ void find_panel_exchanges(PanelFactors<T> factors, int begin, int width,
                                     PanelExchanges* exchanges) {
  const std::int64_t matrix = blockIdx.x;
  if (factors.failed(matrix)) return;
  const std::int32_t* const pivots = factors.pivots + matrix * factors.n + begin;
  PanelExchanges& result = exchanges[matrix];
  const int lane = lane_id();
  for (int k = lane; k < width; k += warp_size) result.origin[k] = begin + k;
  int far = 0;
  __syncwarp();
  for (int k = 0; k < width; ++k) {
    const int row = pivots[k];
    if (row < begin + width) {
      if (lane == 0) {
        const std::int32_t origin = result.origin[k];
        result.origin[k] = result.origin[row - begin];
        result.origin[row - begin] = origin;
      }
    } else {
      int place = INT_MAX;
      for (int s = lane; s < far; s += warp_size) {
        if (result.far_row[s] == row) place = s;
      }
      place = -warp_reduce(-place, Maximum());
      place = __shfl_sync(full_warp, place, 0);
      const bool is_new = place == INT_MAX;
      if (is_new) place = far;
      far += is_new ? 1 : 0;
      if (lane == 0) {
        const std::int32_t origin = is_new ? row : result.far_origin[place];
        result.far_row[place] = row;
        result.far_origin[place] = result.origin[k];
        result.origin[k] = origin;
      }
    }
    __syncwarp();
  }
  if (lane == 0) result.far_count = far;
}

/// Forward substitution with the diagonal block of a panel in a tile of columns: element (k, c) at
/// [k * applied_columns + c].
template <class T>
__device__ void solve_lower_tile(const T* block, std::int64_t leading, int width, bool unit, T* X) {
  const int column = static_cast<int>(threadIdx.x) % applied_columns;
  const int group = static_cast<int>(threadIdx.x) / applied_columns;
  constexpr int groups = apply_threads / applied_columns;
  for (int first = 0; first < width; first += most_leaf_columns) {
    const int end = min(first + most_leaf_columns, width);
    if (group == 0) {
      for (int i = first; i < end; ++i) {
        T sum = X[i * applied_columns + column];
        for (int k = first; k < i; ++k) sum -= block[i + k * leading] * X[k * applied_columns + column];
        X[i * applied_columns + column] = unit ? sum : sum / block[i + i * leading];
      }
    }
    __syncthreads();
    for (int i = end + group; i < width; i += groups) {
      T sum = X[i * applied_columns + column];
      for (int k = first; k < end; ++k) sum -= block[i + k * leading] * X[k * applied_columns + column];
      X[i * applied_columns + column] = sum;
    }
    __syncthreads();
  }
}

/// Backward substitution with the upper triangle of the diagonal block, in the same form.
template <class T>
__device__ void solve_upper_tile(const T* block, std::int64_t leading, int width, T* X) {
  const int column = static_cast<int>(threadIdx.x) % applied_columns;
  const int group = static_cast<int>(threadIdx.x) / applied_columns;
  constexpr int groups = apply_threads / applied_columns;
  const int blocks = (width + most_leaf_columns - 1) / most_leaf_columns;
  for (int b = blocks - 1; b >= 0; --b) {
    const int first = b * most_leaf_columns;
    const int end = min(first + most_leaf_columns, width);
    if (group == 0) {
      for (int i = end - 1; i >= first; --i) {
        T sum = X[i * applied_columns + column];
        for (int k = i + 1; k < end; ++k) sum -= block[i + k * leading] * X[k * applied_columns + column];
        X[i * applied_columns + column] = sum / block[i + i * leading];
      }
    }
    __syncthreads();
    for (int i = group; i < first; i += groups) {
      T sum = X[i * applied_columns + column];
      for (int k = first; k < end; ++k) sum -= block[i + k * leading] * X[k * applied_columns + column];
      X[i * applied_columns + column] = sum;
    }
    __syncthreads();
  }
}

/// Applies the exchanges of the panel at columns [begin, begin + width), unless there are none, and if
/// `solves` is set solves with the lower triangle of its diagonal block, in columns of each matrix.
/// blockIdx.x: applied_columns of them; blockIdx.y: the matrix. Dynamic shared memory for 2 * width *
/// applied_columns elements.
template <class T>
__global__ void __launch_bounds__(apply_threads)
    apply_panels(PanelFactors<T> factors, int begin, int width, const PanelExchanges* all_exchanges,
                 BatchColumns<T> columns, bool solves) {
  extern __shared__ __align__(16) unsigned char storage[];
  T* const X = reinterpret_cast<T*>(storage);
  T* const far = X + width * applied_columns;
  const std::int64_t matrix = blockIdx.y;
  if (factors.failed(matrix)) return;
  const int first = static_cast<int>(blockIdx.x) * applied_columns;
  const int count = min(applied_columns, columns.count - first);
  T* const b = columns.first + matrix * columns.stride + first * columns.leading;
  const PanelExchanges* const exchanges = all_exchanges == nullptr ? nullptr : all_exchanges + matrix;
  const int thread = static_cast<int>(threadIdx.x);
  const int far_count = exchanges == nullptr ? 0 : exchanges->far_count;
  for (int e = thread; e < width * applied_columns; e += apply_threads) {
    const int k = e % width;
    const int c = e / width;
    const int origin = exchanges == nullptr ? begin + k : exchanges->origin[k];
    X[k * applied_columns + c] = c < count ? b[origin + c * columns.leading] : T{};
  }
  for (int e = thread; e < far_count * applied_columns; e += apply_threads) {
    const int s = e % far_count;
    const int c = e / far_count;
    far[s * applied_columns + c] = c < count ? b[exchanges->far_origin[s] + c * columns.leading] : T{};
  }
  __syncthreads();
  for (int e = thread; e < far_count * applied_columns; e += apply_threads) {
    const int s = e % far_count;
    const int c = e / far_count;
    if (c < count) b[exchanges->far_row[s] + c * columns.leading] = far[s * applied_columns + c];
  }
  const T* const block = factors.matrix(matrix) + begin + begin * factors.leading;
  if (solves) solve_lower_tile(block, factors.leading, width, factors.pivots != nullptr, X);
  for (int e = thread; e < width * applied_columns; e += apply_threads) {
    const int k = e % width;
    const int c = e / width;
    if (c < count) b[begin + k + c * columns.leading] = X[k * applied_columns + c];
  }
}

/// Solves with the upper triangle of a panel's diagonal block, in columns of each matrix.
template <class T>
__global__ void __launch_bounds__(apply_threads)
    solve_upper_panels(PanelFactors<T> factors, int begin, int width, BatchColumns<T> columns) {
  __shared__ T X[most_panel_columns * applied_columns];
  const std::int64_t matrix = blockIdx.y;
  if (factors.failed(matrix)) return;
  const int first = static_cast<int>(blockIdx.x) * applied_columns;
  const int count = min(applied_columns, columns.count - first);
  T* const b = columns.first + matrix * columns.stride + first * columns.leading + begin;
  const int thread = static_cast<int>(threadIdx.x);
  for (int e = thread; e < width * applied_columns; e += apply_threads) {
    const int k = e % width;
    const int c = e / width;
    X[k * applied_columns + c] = c < count ? b[k + c * columns.leading] : T{};
  }
  __syncthreads();
  const T* const block = factors.matrix(matrix) + begin + begin * factors.leading;
  solve_upper_tile(block, factors.leading, width, X);
  for (int e = thread; e < width * applied_columns; e += apply_threads) {
    const int k = e % width;
    const int c = e / width;
    if (c < count) b[k + c * columns.leading] = X[k * applied_columns + c];
  }
}

}  // namespace echelon::batch_kernels

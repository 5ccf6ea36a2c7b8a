// SPDX-License-Identifier: BSD-3-Clause
/// Update of the tiles of a window after its factored panel.
#pragma once

#include "backend/cuda/mma.cuh"
#include "sparse_direct/banded/cuda/wide_window.cuh"

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace echelon::banded {

inline constexpr int update_threads = 256;

/// Shared memory of an update.
template <class T>
struct UpdateExchange {
  static constexpr int pitch = tile_columns + 4;

  alignas(16) T pivot_rows[tile_columns][pitch];  ///< the elements of the pivot rows in the tile
  alignas(16) T between[tile_columns][pitch];     ///< [u][t]: multiplier of pivot row t in column u
  std::int32_t pivots[tile_columns];
};

/// Updates a tile of a node, by `update_threads` threads.
template <bool is_interface, class T>
class WideUpdate {
  static constexpr int entering_elements = tile_columns * tile_columns / update_threads;

 public:
  /// Constructor; `first`: first column of the tile, in the left interface or in the node.
  __device__ WideUpdate(const WideWindow<is_interface, T>& window, std::int64_t step, std::int64_t first,
                        bool is_left, UpdateExchange<T>& shared)
      : window_(window),
        node_(window.node()),
        step_(step),
        first_(first),
        is_left_(is_left),
        columns_(window.columns_from(step)),
        leading_(window.leading()),
        tile_(is_left ? window.left_tile(first / tile_columns) : window.tile_of_column(first)),
        lower_(window.factors().lower + node_.lower_offset + step * node_.slots),
        shared_(shared) {}

  __device__ void run() {
    T entering[entering_elements];
    load(entering);
    __syncthreads();
    if (threadIdx.x < warp_size) solve_pivot_rows();
    __syncthreads();
    store_pivot_rows();
    update_rows();
    __syncthreads();
    store_entering(entering);
  }

 private:
  /// Column of element i of this thread, in a matrix whose rows are pivot rows, one for each lane.
  [[nodiscard]] __device__ static int column_of(int i) {
    return (static_cast<int>(threadIdx.x) + i * update_threads) / tile_columns;
  }

  __device__ void load(T (&entering)[entering_elements]) {
    const int t = lane_id();
    const bool exists = t < columns_;
    const std::int32_t p = exists ? window_.factors().pivots[node_.first_step + step_ + t] : 0;
    const std::int64_t row = exists ? node_.slots + step_ + t : node_.rows;
    if (threadIdx.x < tile_columns) shared_.pivots[t] = p;
#pragma unroll
    for (int i = 0; i < entering_elements; ++i) {
      const int j = column_of(i);
      shared_.pivot_rows[t][j] = exists ? tile_[j * leading_ + p] : T{0};
      shared_.between[j][t] = exists && j < t ? lower_[j * std::int64_t{node_.slots} + p] : T{0};
      entering[i] = is_left_ ? window_.left(row, first_ + j) : window_.ahead(row, first_ + j);
    }
  }

  /// Applies the elimination to the pivot rows, each after those before it. Each lane has a column.
  __device__ void solve_pivot_rows() {
    const int j = lane_id();
    T column[tile_columns];
#pragma unroll
    for (int t = 0; t < tile_columns; ++t) column[t] = shared_.pivot_rows[t][j];
#pragma unroll
    for (int u = 0; u < tile_columns; ++u) {
#pragma unroll
      for (int t = u + 1; t < tile_columns; ++t) column[t] -= shared_.between[u][t] * column[u];
    }
#pragma unroll
    for (int t = 0; t < tile_columns; ++t) shared_.pivot_rows[t][j] = column[t];
  }

  __device__ void store_pivot_rows() const {
    T* upper = window_.factors().upper + node_.upper_offset + step_ * node_.width();
    const std::int64_t width = is_left_ ? node_.width() : node_.ahead;
    const int j = lane_id();
    double largest = 0;
    for (int t = static_cast<int>(threadIdx.x) / warp_size; t < columns_; t += update_threads / warp_size) {
      const std::int64_t d = is_left_ ? node_.ahead + first_ + j : first_ + j - (step_ + t);
      if (d >= width) continue;
      const T value = shared_.pivot_rows[t][j];
      upper[t * std::int64_t{node_.width()} + d] = value;
      largest = larger_magnitude(largest, std::abs(static_cast<double>(value)));
    }
    note_largest(window_.facts(), largest);
  }

  /// Subtracts the products of multipliers and pivot rows from all rows.
  __device__ void update_rows() {
    if constexpr (std::is_same_v<T, double>) {
      update_on_tensor_cores();
    } else {
      for (std::int64_t s = threadIdx.x; s < node_.slots; s += update_threads) update_row(s);
    }
  }

  /// Updates 16 rows at a time by each warp. The products are those of the transposed matrices, in fragments
  /// of eight columns by eight rows. The window and the multipliers may be read, and the window written,
  /// beyond the last slot.
  __device__ void update_on_tensor_cores() {
    constexpr int size = 8;
    constexpr int groups = 2;
    const int outer = lane_id() / 4;
    const int inner = lane_id() % 4;
    const int warp = static_cast<int>(threadIdx.x) / warp_size;
    for (std::int64_t s = warp * size * groups; s < node_.slots;
         s += update_threads / warp_size * size * groups) {
      T* place = tile_ + outer * leading_ + s + inner * 2;
      double2 x[groups][tile_columns / size];
      T multipliers[groups][tile_columns / 4];
#pragma unroll
      for (int r = 0; r < groups; ++r) {
#pragma unroll
        for (int t = 0; t < tile_columns / 4; ++t) {
          const int column = 4 * t + inner;
          const T* source = lower_ + column * std::int64_t{node_.slots} + s + r * size + outer;
          multipliers[r][t] = column < columns_ ? -*source : T{0};
        }
#pragma unroll
        for (int j = 0; j < tile_columns / size; ++j) {
          x[r][j] = *reinterpret_cast<double2*>(place + j * size * leading_ + r * size);
        }
      }
#pragma unroll
      for (int t = 0; t < tile_columns / 4; ++t) {
#pragma unroll
        for (int j = 0; j < tile_columns / size; ++j) {
          const T pivot = shared_.pivot_rows[4 * t + inner][size * j + outer];
#pragma unroll
          for (int r = 0; r < groups; ++r) mma::multiply_add_8x8x4(x[r][j], pivot, multipliers[r][t]);
        }
      }
#pragma unroll
      for (int r = 0; r < groups; ++r) {
#pragma unroll
        for (int j = 0; j < tile_columns / size; ++j) {
          *reinterpret_cast<double2*>(place + j * size * leading_ + r * size) = x[r][j];
        }
      }
    }
  }

  __device__ void update_row(std::int64_t s) {
    T x[tile_columns];
#pragma unroll
    for (int j = 0; j < tile_columns; ++j) x[j] = tile_[j * leading_ + s];
#pragma unroll 4
    for (int t = 0; t < columns_; ++t) {
      const T multiplier = lower_[t * std::int64_t{node_.slots} + s];
#pragma unroll
      for (int j = 0; j < tile_columns; ++j) x[j] -= multiplier * shared_.pivot_rows[t][j];
    }
#pragma unroll
    for (int j = 0; j < tile_columns; ++j) tile_[j * leading_ + s] = x[j];
  }

  /// Replaces the former pivot rows by the rows that enter.
  __device__ void store_entering(const T (&entering)[entering_elements]) {
    if (lane_id() >= columns_) return;
    const std::int32_t p = shared_.pivots[lane_id()];
#pragma unroll
    for (int i = 0; i < entering_elements; ++i) tile_[column_of(i) * leading_ + p] = entering[i];
  }

  const WideWindow<is_interface, T>& window_;
  const BandNode& node_;
  std::int64_t step_;
  std::int64_t first_;
  bool is_left_;
  int columns_;
  std::int64_t leading_;
  T* tile_;
  const T* lower_;
  UpdateExchange<T>& shared_;
};

/// Reuses the tile of the eliminated columns as the last one ahead: zeros except for the rows that enter.
template <bool is_interface, class T>
__device__ void renew_tile(const WideWindow<is_interface, T>& window, std::int64_t step,
                           std::int64_t ahead_tiles) {
  const BandNode& node = window.node();
  T* tile = window.tile_of_column(step);
  for (std::int64_t e = threadIdx.x; e < window.leading() * tile_columns; e += blockDim.x) tile[e] = T{0};
  __syncthreads();
  const std::int32_t p = window.factors().pivots[node.first_step + step + lane_id()];
  const std::int64_t first = step + ahead_tiles * tile_columns;
  const int warps = static_cast<int>(blockDim.x) / warp_size;
  for (int j = static_cast<int>(threadIdx.x) / warp_size; j < tile_columns; j += warps) {
    tile[j * window.leading() + p] = window.ahead(node.slots + step + lane_id(), first + j);
  }
}

/// Kernel in which block b has a tile of window b / tiles: of the tiles ahead, the factored one first.
template <bool is_interface, class T>
__global__ void __launch_bounds__(update_threads, 2) update_wide_windows(WideJob<T> job, std::int64_t step) {
  __shared__ UpdateExchange<T> shared;
  const std::int64_t number = blockIdx.x % job.tiles();
  const WideWindow<is_interface, T> window(job, blockIdx.x / job.tiles());
  const BandNode& node = window.node();
  if (step >= node.steps) return;
  if (number == 0) {
    if (node.steps - step >= tile_columns) renew_tile(window, step, job.ahead_tiles);
    return;
  }
  const bool is_left = number >= job.ahead_tiles;
  if (is_left && node.left == 0) return;
  const std::int64_t first =
      is_left ? (number - job.ahead_tiles) * tile_columns : step + number * tile_columns;
  WideUpdate<is_interface, T>(window, step, first, is_left, shared).run();
}

}  // namespace echelon::banded

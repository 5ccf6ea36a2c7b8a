// SPDX-License-Identifier: BSD-3-Clause
/// Substitution with the factors of nodes that were eliminated 32 columns at a time, by a block for each node
/// and right-hand side. The pivot rows of 32 columns are in different slots: a warp solves the triangular
/// system of 32 unknowns, and all warps multiply with the other elements.
#pragma once

#include "backend/cuda/warp.cuh"
#include "sparse_direct/banded/cuda/shared_memory.cuh"
#include "sparse_direct/banded/factors.hpp"
#include "sparse_direct/banded/nodes.hpp"
#include "sparse_direct/banded/partition_rule.hpp"

#include <cstdint>

namespace echelon::banded {

/// Shared memory of a forward substitution, excluding the window.
template <class T>
struct ForwardExchange {
  T between[2][tile_columns][tile_columns + 1];  ///< multipliers between pivot rows, of alternate panels
  T y[tile_columns];
};

/// Applies the node's row operations. `window`: an element for each slot, in shared memory.
template <bool is_interface, class T>
class WideForward {
 public:
  __device__ WideForward(const BandNode& node, const FactorView<T>& factors, const RhsView<T>& rhs, T* window,
                         ForwardExchange<T>& shared)
      : node_(node),
        rhs_(rhs),
        pivots_(factors.pivots + node.first_step),
        lower_(factors.lower + node.lower_offset),
        kept_(factors.kept + node.block_row),
        window_(window),
        shared_(shared) {}

  __device__ void run() {
    for (std::int64_t s = threadIdx.x; s < node_.slots; s += blockDim.x) {
      window_[s] = rhs_element<is_interface>(node_, rhs_, s);
    }
    load_between(0, 0, static_cast<int>(blockDim.x));
    for (std::int64_t step = 0; step < node_.steps; step += tile_columns) do_panel(step);
    __syncthreads();
    if (threadIdx.x < warp_size) take_entering_rows();
    __syncthreads();
    for (std::int64_t r = threadIdx.x; r < node_.block_rows; r += blockDim.x) {
      rhs_.reduced[node_.block_row + r] = window_[kept_[r]];
    }
  }

 private:
  [[nodiscard]] __device__ int columns_from(std::int64_t step) const {
    return static_cast<int>(node_.steps - step < tile_columns ? node_.steps - step : tile_columns);
  }

  __device__ void do_panel(std::int64_t step) {
    const int columns = columns_from(step);
    const std::int64_t slot = threadIdx.x;
    T multipliers[tile_columns];
    load_multipliers(step, columns, slot, multipliers);
    __syncthreads();
    const auto parity = static_cast<int>(step / tile_columns % 2);
    if (threadIdx.x < warp_size) {
      take_entering_rows();
      solve(step, columns, parity);
    } else if (step + tile_columns < node_.steps) {
      load_between(step + tile_columns, 1 - parity, static_cast<int>(blockDim.x) - warp_size);
    }
    __syncthreads();
    subtract_products(slot, multipliers);
    for (std::int64_t s = slot + blockDim.x; s < node_.slots; s += blockDim.x) {
      load_multipliers(step, columns, s, multipliers);
      subtract_products(s, multipliers);
    }
  }

  __device__ void load_multipliers(std::int64_t step, int columns, std::int64_t s,
                                   T (&multipliers)[tile_columns]) const {
    const T* source = lower_ + step * node_.slots + s;
#pragma unroll
    for (int t = 0; t < tile_columns; ++t) {
      multipliers[t] = t < columns && s < node_.slots ? source[t * std::int64_t{node_.slots}] : T{0};
    }
  }

  __device__ void subtract_products(std::int64_t s, const T (&multipliers)[tile_columns]) {
    if (s >= node_.slots) return;
    T sums[4] = {};
#pragma unroll
    for (int t = 0; t < tile_columns; ++t) sums[t % 4] += multipliers[t] * shared_.y[t];
    window_[s] -= (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

  /// Loads the multipliers between pivot rows; called by the last `threads` threads of the block.
  __device__ void load_between(std::int64_t step, int parity, int threads) {
    const int columns = columns_from(step);
    const int begin = static_cast<int>(threadIdx.x) - (static_cast<int>(blockDim.x) - threads);
    for (int e = begin; e < tile_columns * tile_columns; e += threads) {
      const int t = e % tile_columns;
      const int u = e / tile_columns;
      const bool exists = t < columns && u < t;
      shared_.between[parity][t][u] = exists ? lower_[(step + u) * node_.slots + pivots_[step + t]] : T{0};
    }
  }

  /// Stores the rows that enter after a panel in the slots of its pivot rows. Lane t has the t-th.
  __device__ void take_entering_rows() {
    if (pivot_ >= 0) window_[pivot_] = entering_;
    __syncwarp();
  }

  /// Solves for the elements of y of a panel. Lane t has the t-th.
  __device__ void solve(std::int64_t step, int columns, int parity) {
    const int t = lane_id();
    const bool exists = t < columns;
    pivot_ = exists ? pivots_[step + t] : -1;
    entering_ = exists ? rhs_element<is_interface>(node_, rhs_, node_.slots + step + t) : T{0};
    T y = exists ? window_[pivot_] : T{0};
    T multipliers[tile_columns];
#pragma unroll
    for (int u = 0; u < tile_columns; ++u) multipliers[u] = shared_.between[parity][t][u];
#pragma unroll
    for (int u = 0; u + 1 < tile_columns; ++u) y -= multipliers[u] * __shfl_sync(full_warp, y, u);
    shared_.y[t] = y;
    if (exists) rhs_.x[node_column(node_, step + t)] = y;
  }

  const BandNode& node_;
  const RhsView<T>& rhs_;
  const std::int32_t* pivots_;
  const T* lower_;
  const std::int32_t* kept_;
  T* window_;
  ForwardExchange<T>& shared_;
  std::int32_t pivot_ = -1;
  T entering_{};
};

/// Shared memory of a backward substitution, excluding the later columns and the left interface.
template <class T>
struct BackwardExchange {
  T diagonal[tile_columns][tile_columns + 1];  ///< pivot rows' elements in their own columns, by column
  T remainders[tile_columns];
};

/// Solves for the node's eliminated columns from the last to the first. `ahead` holds the elements of x of
/// the columns after the current one, column g at g modulo `ring`, a multiple of 32; `left` those of the
/// left interface.
template <class T, int rows_per_warp>
class WideBackward {
 public:
  __device__ WideBackward(const BandNode& node, const FactorView<T>& factors, T* x, T* ahead, int ring,
                          BackwardExchange<T>& shared)
      : node_(node),
        upper_(factors.upper + node.upper_offset),
        x_(x),
        ahead_(ahead),
        left_(ahead + ring),
        ring_(ring),
        shared_(shared) {}

  __device__ void run() {
    if (node_.steps == 0) return;
    for (std::int64_t g = node_.steps + threadIdx.x; g < node_.columns; g += blockDim.x) {
      if (g < node_.steps + node_.ahead) ahead_[g % ring_] = x_[node_column(node_, g)];
    }
    for (std::int64_t c = threadIdx.x; c < node_.left; c += blockDim.x) left_[c] = x_[node_.left_column + c];
    __syncthreads();
    for (std::int64_t step = (node_.steps - 1) / tile_columns * tile_columns; step >= 0;
         step -= tile_columns) {
      do_panel(step);
    }
  }

 private:
  __device__ void do_panel(std::int64_t step) {
    const auto columns =
        static_cast<int>(node_.steps - step < tile_columns ? node_.steps - step : tile_columns);
    multiply_rows(step, columns);
    __syncthreads();
    if (threadIdx.x < warp_size) solve(step, columns);
    __syncthreads();
  }

  /// Subtracts the products with the columns after the panel and with the left interface. Each warp has
  /// neighbouring rows.
  __device__ void multiply_rows(std::int64_t step, int columns) {
    const int first = static_cast<int>(threadIdx.x) / warp_size * rows_per_warp;
    const int lane = lane_id();
    const T* upper = upper_ + (step + first) * node_.width();
    const std::int64_t columns_left = node_.columns - step;
    const auto base = static_cast<int>(step % ring_);
    T sums[rows_per_warp] = {};
    for (int j = columns + lane; j < tile_columns + node_.ahead; j += warp_size) {
      const int place = base + j;
      const T x = j < columns_left ? ahead_[place < ring_ ? place : place - ring_] : T{0};
#pragma unroll
      for (int r = 0; r < rows_per_warp; ++r) {
        const int d = j - (first + r);
        const bool exists = first + r < columns && d < node_.ahead && j < columns_left;
        if (exists) sums[r] += upper[r * node_.width() + d] * x;
      }
    }
#pragma unroll 2
    for (int c = lane; c < node_.left; c += warp_size) {
      const T x = left_[c];
#pragma unroll
      for (int r = 0; r < rows_per_warp; ++r) {
        if (first + r < columns) sums[r] += upper[r * node_.width() + node_.ahead + c] * x;
      }
    }
#pragma unroll
    for (int r = 0; r < rows_per_warp; ++r) {
      const int t = first + r;
      const bool exists = t < columns && lane < columns - t && lane < node_.ahead;
      if (lane < columns - t) shared_.diagonal[t + lane][t] = exists ? upper[r * node_.width() + lane] : T{0};
      sums[r] = warp_sum(sums[r]);
      if (lane == 0 && t < columns) shared_.remainders[t] = x_[node_column(node_, step + t)] - sums[r];
    }
  }

  /// Solves for the elements of x of a panel, by a warp whose lane t has the t-th.
  __device__ void solve(std::int64_t step, int columns) {
    const int t = lane_id();
    const bool exists = t < columns;
    T x = exists ? shared_.remainders[t] : T{0};
    const T inverse = exists ? shared_.diagonal[t][t] : T{0};
    T upper[tile_columns];
#pragma unroll
    for (int u = 0; u < tile_columns; ++u) upper[u] = t < u && u < columns ? shared_.diagonal[u][t] : T{0};
#pragma unroll
    for (int u = tile_columns - 1; u > 0; --u) {
      const T solved = __shfl_sync(full_warp, x * inverse, u);
      x -= upper[u] * solved;
    }
    x *= inverse;
    if (!exists) return;
    ahead_[(step + t) % ring_] = x;
    x_[node_column(node_, step + t)] = x;
  }

  const BandNode& node_;
  const T* upper_;
  T* x_;
  T* ahead_;
  T* left_;
  int ring_;
  BackwardExchange<T>& shared_;
};

}  // namespace echelon::banded

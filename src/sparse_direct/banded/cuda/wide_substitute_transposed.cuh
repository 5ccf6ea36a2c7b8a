// SPDX-License-Identifier: BSD-3-Clause
/// Substitution with the transposed factors of nodes that were eliminated 32 columns at a time, by a block
/// for each node, in the way of wide_substitute.cuh.
#pragma once

#include "backend/cuda/warp.cuh"
#include "sparse_direct/banded/factors.hpp"
#include "sparse_direct/banded/nodes.hpp"
#include "sparse_direct/banded/partition_rule.hpp"

#include <cstdint>

namespace echelon::banded {

/// Shared memory of a transposed substitution, excluding the window.
template <class T>
struct TransposedExchange {
  T triangle[tile_columns][tile_columns + 1];  ///< elements between the 32 unknowns
  T solved[tile_columns];
  std::int32_t pivots[tile_columns];
};

/// Solves for the eliminated columns from the first to the last and subtracts their products from later
/// columns and from the interfaces; see substitute_transposed_forward. `ahead` holds the elements of the
/// columns from the current one on, column g at g modulo `ring`, a multiple of 32; `left` those of the left
/// interface.
template <class T>
class WideTransposedForward {
 public:
  __device__ WideTransposedForward(const BandNode& node, const FactorView<T>& factors, T* x, T* sums,
                                   std::int64_t k, T* ahead, int ring, TransposedExchange<T>& shared)
      : node_(node),
        upper_(factors.upper + node.upper_offset),
        x_(x),
        sums_(sums),
        k_(k),
        ahead_(ahead),
        left_(ahead + ring),
        ring_(ring),
        shared_(shared) {}

  __device__ void run() {
    for (std::int64_t g = threadIdx.x; g < ring_ && g < node_.columns; g += blockDim.x) {
      ahead_[g] = *element(g);
    }
    for (std::int64_t c = threadIdx.x; c < node_.left; c += blockDim.x) left_[c] = sums_[c];
    __syncthreads();
    for (std::int64_t step = 0; step < node_.steps; step += tile_columns) do_panel(step);
    for (std::int64_t g = node_.steps + threadIdx.x; g < node_.columns; g += blockDim.x) {
      *element(g) = ahead_[g % ring_];
    }
    for (std::int64_t c = threadIdx.x; c < node_.left; c += blockDim.x) sums_[c] = left_[c];
  }

 private:
  /// Element of x for column g, or of the sums for the right interface.
  [[nodiscard]] __device__ T* element(std::int64_t g) const {
    if (g < node_.steps) return x_ + node_column(node_, g);
    const std::int64_t c = g - node_.steps;
    return sums_ + (node_.direction < 0 ? k_ - 1 - c : k_ + c);
  }

  __device__ void do_panel(std::int64_t step) {
    const auto columns =
        static_cast<int>(node_.steps - step < tile_columns ? node_.steps - step : tile_columns);
    load_triangle(step, columns);
    __syncthreads();
    if (threadIdx.x < warp_size) solve(step, columns);
    __syncthreads();
    subtract_products(step, columns);
    __syncthreads();
    // Columns that enter the window take the places of the solved ones.
    if (threadIdx.x < static_cast<unsigned>(columns)) {
      const std::int64_t g = step + ring_ + threadIdx.x;
      if (g < node_.columns) ahead_[g % ring_] = *element(g);
    }
    __syncthreads();
  }

  __device__ void load_triangle(std::int64_t step, int columns) {
    const int u = lane_id();
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    for (int t = static_cast<int>(threadIdx.x) / warp_size; t < tile_columns; t += warps) {
      const bool exists = t <= u && u < columns && u - t < node_.ahead;
      shared_.triangle[t][u] = exists ? upper_[(step + t) * node_.width() + u - t] : T{0};
    }
  }

  __device__ void solve(std::int64_t step, int columns) {
    const int u = lane_id();
    const bool exists = u < columns;
    T z = exists ? ahead_[(step + u) % ring_] : T{0};
    const T inverse = shared_.triangle[u][u];
    T upper[tile_columns];
#pragma unroll
    for (int t = 0; t < tile_columns; ++t) upper[t] = t < u ? shared_.triangle[t][u] : T{0};
#pragma unroll
    for (int t = 0; t + 1 < tile_columns; ++t) z -= upper[t] * __shfl_sync(full_warp, z * inverse, t);
    z *= inverse;
    shared_.solved[u] = z;
    if (exists) x_[node_column(node_, step + u)] = z;
  }

  /// Subtracts products, with a thread for each column after the panel or of the left interface.
  __device__ void subtract_products(std::int64_t step, int columns) {
    const int trailing = node_.ahead - 1;  // columns that the panel's last row reaches
    for (int i = static_cast<int>(threadIdx.x); i < trailing + node_.left;
         i += static_cast<int>(blockDim.x)) {
      const bool is_left = i >= trailing;
      const int place = is_left ? node_.ahead + i - trailing : columns + i;
      if (!is_left && step + place >= node_.columns) continue;
      T sum{0};
#pragma unroll 8
      for (int t = 0; t < columns; ++t) {
        const int d = is_left ? place : place - t;
        const bool exists = is_left || d < node_.ahead;
        if (exists) sum += upper_[(step + t) * node_.width() + d] * shared_.solved[t];
      }
      T& target = is_left ? left_[i - trailing] : ahead_[(step + place) % ring_];
      target -= sum;
    }
  }

  const BandNode& node_;
  const T* upper_;
  T* x_;
  T* sums_;
  std::int64_t k_;
  T* ahead_;
  T* left_;
  int ring_;
  TransposedExchange<T>& shared_;
};

/// Undoes the node's row operations from the last to the first; see substitute_transposed_backward. `window`:
/// an element for each slot.
template <bool is_interface, class T>
class WideTransposedBackward {
 public:
  __device__ WideTransposedBackward(const BandNode& node, const FactorView<T>& factors, T* x, T* reduced,
                                    T* window, TransposedExchange<T>& shared)
      : node_(node),
        pivots_(factors.pivots + node.first_step),
        lower_(factors.lower + node.lower_offset),
        kept_(factors.kept + node.block_row),
        x_(x),
        reduced_(reduced),
        window_(window),
        shared_(shared) {}

  __device__ void run() {
    for (std::int64_t s = threadIdx.x; s < node_.slots; s += blockDim.x) window_[s] = T{0};
    __syncthreads();
    for (std::int64_t r = threadIdx.x; r < node_.block_rows; r += blockDim.x) {
      window_[kept_[r]] = reduced_[node_.block_row + r];
    }
    __syncthreads();
    for (std::int64_t step = (node_.steps - 1) / tile_columns * tile_columns; step >= 0 && node_.steps > 0;
         step -= tile_columns) {
      do_panel(step);
    }
    for (std::int64_t s = threadIdx.x; s < node_.slots; s += blockDim.x) store(s, window_[s]);
  }

 private:
  __device__ void store(std::int64_t t, T value) const {
    if (t >= node_.rows) return;
    (is_interface ? reduced_[interface_row(node_, t)] : x_[partition_row(node_, t)]) = value;
  }

  __device__ void do_panel(std::int64_t step) {
    const auto columns =
        static_cast<int>(node_.steps - step < tile_columns ? node_.steps - step : tile_columns);
    const auto t = static_cast<int>(threadIdx.x);
    T z{0};
    if (t < tile_columns) {
      shared_.pivots[t] = t < columns ? pivots_[step + t] : 0;
      if (t < columns) z = x_[node_column(node_, step + t)];
    }
    __syncthreads();
    if (t < columns) {  // the rows that entered after the panel leave the window
      store(node_.slots + step + t, window_[shared_.pivots[t]]);
      window_[shared_.pivots[t]] = T{0};
    }
    load_triangle(step, columns);
    __syncthreads();
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    for (int row = t / warp_size; row < columns; row += warps) multiply_row(step, row);
    __syncthreads();
    if (t < warp_size) solve(columns, z);
    __syncthreads();
  }

  __device__ void load_triangle(std::int64_t step, int columns) {
    const int u = lane_id();
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    for (int t = static_cast<int>(threadIdx.x) / warp_size; t < tile_columns; t += warps) {
      const bool exists = t < u && u < columns;
      shared_.triangle[u][t] = exists ? lower_[(step + t) * node_.slots + shared_.pivots[u]] : T{0};
    }
  }

  /// Sums over all slots; in those of the panel's pivot rows the window is zero.
  __device__ void multiply_row(std::int64_t step, int t) {
    const T* lower = lower_ + (step + t) * node_.slots;
    T sum{0};
#pragma unroll 4
    for (int s = lane_id(); s < node_.slots; s += warp_size) sum += lower[s] * window_[s];
    sum = warp_sum(sum);
    if (lane_id() == 0) shared_.solved[t] = sum;
  }

  __device__ void solve(int columns, T z) {
    const int t = lane_id();
    T y = t < columns ? z - shared_.solved[t] : T{0};
    T lower[tile_columns];
#pragma unroll
    for (int u = 0; u < tile_columns; ++u) lower[u] = shared_.triangle[u][t];
#pragma unroll
    for (int u = tile_columns - 1; u > 0; --u) y -= lower[u] * __shfl_sync(full_warp, y, u);
    if (t < columns) window_[shared_.pivots[t]] = y;
  }

  const BandNode& node_;
  const std::int32_t* pivots_;
  const T* lower_;
  const std::int32_t* kept_;
  T* x_;
  T* reduced_;
  T* window_;
  TransposedExchange<T>& shared_;
};

}  // namespace echelon::banded

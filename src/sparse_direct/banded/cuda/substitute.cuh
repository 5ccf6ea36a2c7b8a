// SPDX-License-Identifier: BSD-3-Clause
/// Substitution with a node's factors by a warp, one right-hand side at a time. Factors are loaded a few
/// steps before they are used.
#pragma once

#include "backend/cuda/warp.cuh"
#include "sparse_direct/banded/factors.hpp"
#include "sparse_direct/banded/substitute.hpp"

#include <cstdint>

namespace echelon::banded {

/// Returns values[index], for an index that is not known at compile time and equal in all lanes.
template <int size, class T>
__device__ T element_of(const T (&values)[size], int index) {
  T result = values[0];
#pragma unroll
  for (int i = 1; i < size; ++i) result = i == index ? values[i] : result;
  return result;
}

/// Applies the node's row operations. Lane l holds the slots l, l + 32, ... in registers. `scratch`: an
/// element for each slot, in shared memory.
template <bool is_interface, int registers, class T>
class WarpForward {
  static constexpr int depth = registers <= 2 ? 8 : 4;  // steps that factors are loaded ahead

 public:
  __device__ WarpForward(const BandNode& node, const FactorView<T>& factors, const RhsView<T>& rhs)
      : node_(node),
        rhs_(rhs),
        pivots_(factors.pivots + node.first_step),
        lower_(factors.lower + node.lower_offset),
        kept_(factors.kept) {}

  __device__ void run(T* scratch) {
#pragma unroll
    for (int r = 0; r < registers; ++r) {
      const int slot = lane_id() + r * warp_size;
      window_[r] = slot < node_.slots ? rhs_element<is_interface>(node_, rhs_, slot) : T{0};
    }
    T multipliers[depth][registers];
#pragma unroll
    for (int u = 0; u < depth; ++u) load(u, multipliers[u]);
    for (std::int64_t step = 0; step < node_.steps; step += warp_size) do_steps(step, multipliers);
    store_reduced(scratch);
  }

 private:
  __device__ void load(std::int64_t step, T (&multipliers)[registers]) const {
#pragma unroll
    for (int r = 0; r < registers; ++r) {
      const int slot = lane_id() + r * warp_size;
      multipliers[r] = slot < node_.slots && step < node_.steps ? lower_[step * node_.slots + slot] : T{0};
    }
  }

  /// Performs 32 steps, whose pivots, entering elements and results are held by one lane each.
  __device__ void do_steps(std::int64_t first, T (&multipliers)[depth][registers]) {
    const std::int64_t own = first + lane_id();
    const bool exists = own < node_.steps;
    const std::int32_t pivot = exists ? pivots_[own] : 0;
    const T entering = rhs_element<is_interface>(node_, rhs_, node_.slots + own);
    T result{0};
    for (int base = 0; base < warp_size; base += depth) {
#pragma unroll
      for (int u = 0; u < depth; ++u) {
        const int i = base + u;
        if (first + i < node_.steps) {
          const std::int32_t p = __shfl_sync(full_warp, pivot, i);
          const T next = LogicalWarp<>::shuffle(entering, i);
          const T y = LogicalWarp<>::shuffle(element_of(window_, p / warp_size), p % warp_size);
#pragma unroll
          for (int r = 0; r < registers; ++r) {
            const int slot = lane_id() + r * warp_size;
            window_[r] = slot == p ? next : window_[r] - multipliers[u][r] * y;
          }
          if (lane_id() == i) result = y;
        }
        load(first + i + depth, multipliers[u]);
      }
    }
    if (exists) rhs_.x[node_column(node_, own)] = result;
  }

  __device__ void store_reduced(T* scratch) const {
#pragma unroll
    for (int r = 0; r < registers; ++r) {
      const int slot = lane_id() + r * warp_size;
      if (slot < node_.slots) scratch[slot] = window_[r];
    }
    __syncwarp();
    for (std::int64_t r = lane_id(); r < node_.block_rows; r += warp_size) {
      rhs_.reduced[node_.block_row + r] = scratch[kept_[node_.block_row + r]];
    }
  }

  const BandNode& node_;
  const RhsView<T>& rhs_;
  const std::int32_t* pivots_;
  const T* lower_;
  const std::int32_t* kept_;
  T window_[registers];
};

/// Solves for the node's eliminated columns from the last to the first. A ring of registers holds the columns
/// after the current one: lane l holds those with number l modulo 32, and likewise those of the left
/// interface.
template <int ahead_registers, int left_registers, class T>
class WarpBackward {
  static constexpr int depth = ahead_registers + left_registers <= 3 ? 4 : 2;
  static constexpr int ring = ahead_registers * warp_size;
  static_assert((ring & (ring - 1)) == 0);

  /// The elements of a pivot row that the lane multiplies, and 1 / pivot.
  struct PivotRow {
    T ahead[ahead_registers];
    T left[left_registers > 0 ? left_registers : 1];
    T inverse;
  };

 public:
  __device__ WarpBackward(const BandNode& node, const FactorView<T>& factors, T* x)
      : node_(node), upper_(factors.upper + node.upper_offset), x_(x) {}

  __device__ void run() {
    if (node_.steps == 0) return;
    load_interfaces();
    const std::int64_t last = (node_.steps - 1) / warp_size * warp_size;
    PivotRow rows[depth];
#pragma unroll
    for (int u = 0; u < depth; ++u) load(last + warp_size - 1 - u, rows[u]);
    for (std::int64_t first = last; first >= 0; first -= warp_size) do_steps(first, rows);
  }

 private:
  /// The column after `step`, within a ring, that register r of this lane holds.
  __device__ std::int64_t column_of(std::int64_t step, int r) const {
    const auto place = static_cast<std::int64_t>(lane_id() + r * warp_size);
    return step + 1 + ((place - (step + 1)) & (ring - 1));
  }

  __device__ void load_interfaces() {
#pragma unroll
    for (int r = 0; r < ahead_registers; ++r) {
      const std::int64_t g = column_of(node_.steps - 1, r);
      ahead_[r] = g < node_.columns ? x_[node_column(node_, g)] : T{0};
    }
#pragma unroll
    for (int r = 0; r < left_registers; ++r) {
      const int c = lane_id() + r * warp_size;
      left_[r] = c < node_.left ? x_[node_.left_column + c] : T{0};
    }
  }

  __device__ void load(std::int64_t step, PivotRow& row) const {
    const bool exists = step >= 0 && step < node_.steps;
    const T* source = upper_ + (exists ? step : 0) * node_.width();
#pragma unroll
    for (int r = 0; r < ahead_registers; ++r) {
      const std::int64_t d = column_of(step, r) - step;
      row.ahead[r] = exists && d < node_.ahead ? source[d] : T{0};
    }
#pragma unroll
    for (int r = 0; r < left_registers; ++r) {
      const int c = lane_id() + r * warp_size;
      row.left[r] = exists && c < node_.left ? source[node_.ahead + c] : T{0};
    }
    row.inverse = exists ? source[0] : T{0};
  }

  /// Performs 32 steps from the last to the first, whose elements of x are held by one lane each.
  __device__ void do_steps(std::int64_t first, PivotRow (&rows)[depth]) {
    const std::int64_t own = first + lane_id();
    T element = own < node_.steps ? x_[node_column(node_, own)] : T{0};
    for (int base = warp_size - 1; base >= 0; base -= depth) {
#pragma unroll
      for (int u = 0; u < depth; ++u) {
        const int i = base - u;
        const std::int64_t step = first + i;
        if (step < node_.steps) {
          const T sum = LogicalWarp<>::all_reduce(products(rows[u]), Plus());
          const T value = (LogicalWarp<>::shuffle(element, i) - sum) * rows[u].inverse;
          const int place = static_cast<int>(step & (ring - 1));
#pragma unroll
          for (int r = 0; r < ahead_registers; ++r) {
            if (place == lane_id() + r * warp_size) ahead_[r] = value;
          }
          if (lane_id() == i) element = value;
        }
        load(step - depth, rows[u]);
      }
    }
    if (own < node_.steps) x_[node_column(node_, own)] = element;
  }

  __device__ T products(const PivotRow& row) const {
    T sum{0};
#pragma unroll
    for (int r = 0; r < left_registers; ++r) sum += row.left[r] * left_[r];
#pragma unroll
    for (int r = 0; r < ahead_registers; ++r) sum += row.ahead[r] * ahead_[r];
    return sum;
  }

  const BandNode& node_;
  const T* upper_;
  T* x_;
  T ahead_[ahead_registers];
  T left_[left_registers > 0 ? left_registers : 1];
};

}  // namespace echelon::banded

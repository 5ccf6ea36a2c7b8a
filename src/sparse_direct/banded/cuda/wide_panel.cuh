// SPDX-License-Identifier: BSD-3-Clause
/// Factorisation of 32 columns of a window in registers: a thread has the row of a slot.
#pragma once

#include "sparse_direct/banded/cuda/wide_window.cuh"

#include <cmath>
#include <cstdint>

namespace echelon::banded {

/// The largest of the values of a warp's lanes.
__device__ inline unsigned warp_maximum(unsigned value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  return __reduce_max_sync(full_warp, value);
#else
  return LogicalWarp<>::all_reduce(value, Maximum());
#endif
}

/// The first lane with the largest key, by all lanes of a warp.
__device__ inline int lane_of_largest(unsigned key) {
  const bool is_largest = key == warp_maximum(key);
  return __ffs(static_cast<int>(__ballot_sync(full_warp, static_cast<int>(is_largest)))) - 1;
}

/// Order of candidates for the pivot: that of magnitudes, without the lower half of those in double
/// precision. NaN comes last, so that it becomes a pivot and is noticed. Never 0.
__device__ inline unsigned pivot_key(double value) {
  return static_cast<unsigned>(static_cast<unsigned long long>(__double_as_longlong(std::abs(value))) >>
                               32U) +
         1;
}
__device__ inline unsigned pivot_key(float value) {
  return static_cast<unsigned>(__float_as_int(std::abs(value))) + 1;
}

/// Shared memory of the threads of a panel.
template <class T>
struct PanelExchange {
  struct Candidate {
    unsigned key;
    std::int32_t slot;
  };
  alignas(16) T rows[tile_columns][tile_columns];  ///< pivot rows, each from its pivot on
  T inverses[tile_columns];                        ///< 1 / pivot, or 0
  std::int32_t pivots[tile_columns];               ///< slots
  Candidate candidates[warp_size];                 ///< the best row of each warp
};

/// Factors the next 32 columns of a node. Element 0 of a thread is in the column that is eliminated next, and
/// the others move by one place with each column.
template <bool is_interface, class T>
class WidePanel {
 public:
  __device__ WidePanel(const WideWindow<is_interface, T>& window, std::int64_t step, PanelExchange<T>& shared)
      : window_(window),
        node_(window.node()),
        step_(step),
        columns_(window.columns_from(step)),
        slot_(static_cast<std::int32_t>(threadIdx.x)),
        shared_(shared) {}

  __device__ void run() {
    load();
    eliminate_columns<tile_columns>();
    eliminate_columns<tile_columns * 3 / 4>();
    eliminate_columns<tile_columns / 2>();
    eliminate_columns<tile_columns / 4>();
    store_pivot_rows();
    if (slot_ < node_.slots) store_rest();
  }

 private:
  /// Number of the column in which this thread's row was the pivot row; 32 if none.
  static constexpr std::int32_t remains = tile_columns;
  static constexpr std::int32_t absent = -1;

  __device__ void load() {
    const T* tile = window_.tile_of_column(step_) + slot_;
#pragma unroll
    for (int j = 0; j < tile_columns; ++j) elements_[j] = tile[j * window_.leading()];
    eliminated_ = window_.slot_rows()[slot_] < 0 ? absent : remains;
  }

  /// Eliminates a quarter of the columns, with the first `live` elements of each row.
  template <int live>
  __device__ void eliminate_columns() {
    constexpr int begin = tile_columns - live;
    const int end = columns_ < begin + tile_columns / 4 ? columns_ : begin + tile_columns / 4;
    T* lower = window_.factors().lower + node_.lower_offset + (step_ + begin) * node_.slots + slot_;
    for (int t = begin; t < end; ++t, lower += node_.slots) {
      const T multiplier = eliminate_column<live>(t);
      if (slot_ < node_.slots) *lower = multiplier;
    }
  }

  template <int live>
  __device__ T eliminate_column(int t) {
    const unsigned key = eliminated_ == remains ? pivot_key(elements_[0]) : 0;
    if (lane_id() == lane_of_largest(key)) shared_.candidates[threadIdx.x / warp_size] = {key, slot_};
    __syncthreads();
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    const auto candidate = shared_.candidates[lane_id() < warps ? lane_id() : 0];
    const int best = lane_of_largest(lane_id() < warps ? candidate.key : 0);
    if (__shfl_sync(full_warp, candidate.slot, best) == slot_) publish_pivot_row<live>(t);
    __syncthreads();
    const T multiplier = eliminated_ == remains ? elements_[0] * shared_.inverses[t] : T{0};
#pragma unroll
    for (int j = 1; j < live; ++j) elements_[j - 1] = elements_[j] - multiplier * shared_.rows[t][j];
    return multiplier;
  }

  template <int live>
  __device__ void publish_pivot_row(int t) {
    const T pivot = elements_[0];
    shared_.inverses[t] = std::abs(pivot) >= smallest_pivot<T> ? 1 / pivot : T{0};
#pragma unroll
    for (int j = 0; j < live; ++j) shared_.rows[t][j] = elements_[j];
    shared_.pivots[t] = slot_;
    eliminated_ = t;
  }

  /// Stores the pivot rows' elements in the panel, and 1 / pivot.
  __device__ void store_pivot_rows() const {
    const int warps = static_cast<int>(blockDim.x) / warp_size;
    const int d = lane_id();
    T* upper = window_.factors().upper + node_.upper_offset + step_ * node_.width();
    double largest = 0;
    for (int t = static_cast<int>(threadIdx.x) / warp_size; t < columns_; t += warps) {
      if (t + d >= tile_columns) continue;
      const T value = shared_.rows[t][d];
      largest = larger_magnitude(largest, std::abs(static_cast<double>(value)));
      if (d < node_.ahead) upper[t * node_.width() + d] = d == 0 ? shared_.inverses[t] : value;
    }
    note_largest(window_.facts(), largest);
    if (slot_ >= columns_) return;
    window_.factors().pivots[node_.first_step + step_ + slot_] = shared_.pivots[slot_];
    if (slot_ > 0 || window_.facts().zero_column >= 0) return;
    for (int t = columns_; t-- > 0;) {
      if (shared_.inverses[t] == T{0}) window_.facts().zero_column = node_column(node_, step_ + t);
    }
  }

  /// Stores the columns of the tile after the last eliminated one, and the number of the node's row in each
  /// slot.
  __device__ void store_rest() const {
    const bool leaves = eliminated_ >= 0 && eliminated_ < columns_;
    const std::int64_t entering_row = node_.slots + step_ + eliminated_;
    T* tile = window_.tile_of_column(step_) + slot_;
#pragma unroll
    for (int j = 0; j < tile_columns; ++j) {
      const int column = columns_ + j;
      if (column >= tile_columns) break;
      tile[column * window_.leading()] = leaves ? window_.ahead(entering_row, step_ + column) : elements_[j];
    }
    if (leaves) {
      window_.slot_rows()[slot_] = entering_row < node_.rows ? static_cast<std::int32_t>(entering_row) : -1;
    }
  }

  const WideWindow<is_interface, T>& window_;
  const BandNode& node_;
  std::int64_t step_;
  int columns_;
  std::int32_t slot_;
  PanelExchange<T>& shared_;
  std::int32_t eliminated_ = absent;
  T elements_[tile_columns];
};

/// Kernel with a block for each node and a thread for each slot.
template <bool is_interface, class T, int most_threads>
__global__ void __launch_bounds__(most_threads) factor_wide_panels(WideJob<T> job, std::int64_t step) {
  __shared__ PanelExchange<T> shared;
  const WideWindow<is_interface, T> window(job, blockIdx.x);
  if (step >= window.node().steps) return;
  WidePanel<is_interface, T>(window, step, shared).run();
}

}  // namespace echelon::banded

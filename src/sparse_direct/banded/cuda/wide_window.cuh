// SPDX-License-Identifier: BSD-3-Clause
/// Windows of nodes that are eliminated 32 columns at a time. A window is in global memory: a block for each
/// node factors a panel of 32 columns (wide_panel.cuh), then a block for each tile of each node updates the
/// other columns (wide_update.cuh).
///
/// A window consists of tiles of 32 columns, each by columns of `leading` elements, one for each slot. The
/// tiles ahead form a ring: column g of the node is in tile g / 32 modulo their number. The tiles of the left
/// interface follow.
#pragma once

#include "backend/cuda/warp.cuh"
#include "sparse_direct/banded/cuda/shared_memory.cuh"
#include "sparse_direct/banded/nodes.hpp"
#include "sparse_direct/banded/partition_rule.hpp"

#include <cstdint>

namespace echelon::banded {

template <class T>
struct WideJob {
  LevelNodes nodes;
  FactorBatch<T> factors;
  BandMatrices<T> A;
  T* windows;               ///< one for each node and matrix
  std::int32_t* slot_rows;  ///< the node's row in each slot, or -1; `leading` for each window
  std::int64_t leading;     ///< slots of the node with the most, and a multiple of 32
  std::int64_t ahead_tiles;
  std::int64_t left_tiles;

  [[nodiscard]] __host__ __device__ std::int64_t tiles() const { return ahead_tiles + left_tiles; }
};

/// The window of a block's node.
template <bool is_interface, class T>
class WideWindow {
 public:
  /// Constructor; `place`: number of the window.
  __device__ WideWindow(const WideJob<T>& job, std::int64_t place)
      : job_(job),
        node_(job.nodes.first[place % job.nodes.count]),
        factors_(job.factors.of(place / job.nodes.count)),
        facts_(job.factors.facts + place / job.nodes.count * job.factors.node_count + job.nodes.begin +
               place % job.nodes.count),
        elements_(job.windows + place * job.tiles() * job.leading * tile_columns),
        slot_rows_(job.slot_rows + place * job.leading) {
    if constexpr (!is_interface) A_ = job.A.of(place / job.nodes.count);
  }

  [[nodiscard]] __device__ const BandNode& node() const { return node_; }
  [[nodiscard]] __device__ const FactorView<T>& factors() const { return factors_; }
  [[nodiscard]] __device__ NodeFacts& facts() const { return *facts_; }
  [[nodiscard]] __device__ std::int32_t* slot_rows() const { return slot_rows_; }
  [[nodiscard]] __device__ std::int64_t leading() const { return job_.leading; }

  /// Number of columns that are eliminated at once from `step` on.
  [[nodiscard]] __device__ int columns_from(std::int64_t step) const {
    return static_cast<int>(node_.steps - step < tile_columns ? node_.steps - step : tile_columns);
  }
  /// The tile that holds column g.
  [[nodiscard]] __device__ T* tile_of_column(std::int64_t g) const {
    return tile(g / tile_columns % job_.ahead_tiles);
  }
  [[nodiscard]] __device__ T* left_tile(std::int64_t number) const { return tile(job_.ahead_tiles + number); }

  /// Element of the node's row t in column g, and in column c of the left interface.
  [[nodiscard]] __device__ T ahead(std::int64_t t, std::int64_t g) const {
    if (t >= node_.rows) return T{0};
    if constexpr (is_interface) {
      return InterfaceRows<T>{factors_.blocks, job_.factors.k}.ahead(node_, t, g);
    } else {
      return PartitionRows<T>{A_}.ahead(node_, t, g);
    }
  }
  [[nodiscard]] __device__ T left(std::int64_t t, std::int64_t c) const {
    if (t >= node_.rows || c >= node_.left) return T{0};
    if constexpr (is_interface) {
      return InterfaceRows<T>{factors_.blocks, job_.factors.k}.left(node_, t, c);
    } else {
      return PartitionRows<T>{A_}.left(node_, t, c);
    }
  }

 private:
  [[nodiscard]] __device__ T* tile(std::int64_t number) const {
    return elements_ + number * job_.leading * tile_columns;
  }

  const WideJob<T>& job_;
  BandNode node_;
  FactorView<T> factors_;
  BandElements<T> A_;
  NodeFacts* facts_;
  T* elements_;
  std::int32_t* slot_rows_;
};

/// Combines facts of the node from the threads of several blocks. Magnitudes have the order of their bits,
/// with NaN last. All lanes of a warp take part.
__device__ inline void note_largest(NodeFacts& facts, double magnitude) {
  magnitude = warp_reduce(magnitude, [](double a, double b) { return larger_magnitude(a, b); });
  if (lane_id() == 0) {
    atomicMax(reinterpret_cast<unsigned long long*>(&facts.largest),
              static_cast<unsigned long long>(__double_as_longlong(magnitude)));
  }
}

/// Fills a tile of the window: block b has tile b % tiles of window b / tiles.
template <bool is_interface, class T>
__global__ void __launch_bounds__(256) fill_wide_windows(WideJob<T> job) {
  const std::int64_t number = blockIdx.x % job.tiles();
  const WideWindow<is_interface, T> window(job, blockIdx.x / job.tiles());
  const BandNode& node = window.node();
  const bool is_left = number >= job.ahead_tiles;
  T* tile =
      is_left ? window.left_tile(number - job.ahead_tiles) : window.tile_of_column(number * tile_columns);
  const std::int64_t first = (is_left ? number - job.ahead_tiles : number) * tile_columns;
  const int warps = static_cast<int>(blockDim.x) / warp_size;
  for (int j = static_cast<int>(threadIdx.x) / warp_size; j < tile_columns; j += warps) {
    for (std::int64_t s = lane_id(); s < job.leading; s += warp_size) {
      const std::int64_t t = s < node.slots ? s : node.rows;
      tile[j * job.leading + s] = is_left ? window.left(t, first + j) : window.ahead(t, first + j);
    }
  }
  if (number > 0) return;
  for (std::int64_t s = threadIdx.x; s < job.leading; s += blockDim.x) {
    window.slot_rows()[s] = s < node.rows && s < node.slots ? static_cast<std::int32_t>(s) : -1;
  }
  if (threadIdx.x == 0) window.facts() = NodeFacts{};
}

/// Lists the slots of the remaining rows, in ascending order, by a warp. A singular node may have fewer rows.
template <bool is_interface, class T>
__device__ void find_kept_slots(const WideWindow<is_interface, T>& window, std::int32_t* kept) {
  const BandNode& node = window.node();
  std::int32_t found = 0;
  for (std::int32_t first = 0; first < node.slots; first += warp_size) {
    const std::int32_t s = first + lane_id();
    const bool keep = s < node.slots && window.slot_rows()[s] >= 0;
    const unsigned mask = __ballot_sync(full_warp, static_cast<int>(keep));
    const std::int32_t r = found + __popc(mask & lanes_before(lane_id()));
    if (keep && r < node.block_rows) kept[r] = s;
    found += __popc(mask);
  }
  for (std::int32_t r = found + lane_id(); r < node.block_rows; r += warp_size) kept[r] = 0;
}

/// Stores the remaining rows as the node's reduced block. Block b has rows 32 (b % parts), ... of window b /
/// parts. Shared memory: an integer for each row of the block.
template <bool is_interface, class T>
__global__ void __launch_bounds__(256) store_wide_blocks(WideJob<T> job, std::int64_t parts) {
  const WideWindow<is_interface, T> window(job, blockIdx.x / parts);
  const BandNode& node = window.node();
  const std::int64_t first = blockIdx.x % parts * warp_size;
  if (first >= node.block_rows) return;
  auto* kept = dynamic_shared_memory<std::int32_t>();
  if (threadIdx.x < warp_size) find_kept_slots(window, kept);
  __syncthreads();
  const std::int64_t k = job.factors.k;
  const std::int64_t end = first + warp_size < node.block_rows ? first + warp_size : node.block_rows;
  T* blocks = window.factors().blocks + node.block_row * 2 * k;
  // Columns in the order of A: a node that is eliminated from its end has them in reverse.
  const bool reversed = node.direction < 0;
  for (std::int64_t c = threadIdx.x; c < 2 * k; c += blockDim.x) {
    const std::int64_t right = reversed ? k - 1 - c : c - k;
    const T* column = nullptr;
    if (right < 0 || right >= k) {
      const std::int64_t left = reversed ? c - k : c;
      if (node.left > 0) column = window.left_tile(left / tile_columns) + left % tile_columns * job.leading;
    } else if (node.steps + right < node.columns) {
      const std::int64_t g = node.steps + right;
      column = window.tile_of_column(g) + g % tile_columns * job.leading;
    }
    for (std::int64_t r = first; r < end; ++r)
      blocks[r * 2 * k + c] = column == nullptr ? T{0} : column[kept[r]];
  }
  for (std::int64_t r = first + threadIdx.x; r < end; r += blockDim.x) {
    window.factors().kept[node.block_row + r] = kept[r];
  }
}

}  // namespace echelon::banded

// SPDX-License-Identifier: BSD-3-Clause
/// Leaves: the columns of a panel that one kernel eliminates, in the shared memory of a cluster of thread
/// blocks.
///
/// Nothing here waits for the GPU: ranks stay there, and everything whose size depends on them has the size
/// for full rank, padded with zeros.
#pragma once

#include "dense/panels/panel.hpp"
#include "dense/panels/workspace.cuh"

#include <cstddef>
#include <cstdint>

namespace echelon {

/// Argument of a leaf kernel: columns [begin, begin + width) of a matrix of `rows` rows.
template <class T>
struct LeafJob {
  T* a;  ///< first column of the leaf
  std::int64_t leading;
  int rows;
  int width;
  std::int64_t begin;
  EliminationState* state;
  PivotList<T> pivots;
  std::int64_t* rank_after;  ///< receives the rank after the leaf
};

/// Kernel and launch configuration for leaves of one height. No kernel: they do not fit into a cluster.
template <class T>
struct LeafPlan {
  void (*kernel)(LeafJob<T>) = nullptr;
  int width = 0;  ///< the most columns of a leaf
  unsigned blocks = 0;
  unsigned threads = 0;
  std::size_t shared_bytes = 0;
};

/// Plans leaves of at most `max_width` columns, as wide as fits for m rows. Queries the GPU without waiting
/// for queued work.
template <class T>
[[nodiscard]] LeafPlan<T> plan_leaves(const Cuda& backend, std::int64_t m, std::int64_t max_width,
                                      const PanelTuning& tuning);

/// Queues the elimination of a leaf, with a plan that has a kernel, on `stream`.
template <class T>
void factor_leaf(const Cuda& backend, const LeafPlan<T>& plan, const LeafJob<T>& job, cudaStream_t stream);

}  // namespace echelon

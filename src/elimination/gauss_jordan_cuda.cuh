// SPDX-License-Identifier: BSD-3-Clause
/// What the elimination on a GPU shares between its files. Nothing here waits for the GPU: ranks stay there,
/// and everything whose size depends on them has the size of a full rank, filled up with zeros.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "elimination/gauss_jordan_panel.hpp"

#include <cstddef>
#include <cstdint>

namespace echelon {

/// What one kernel eliminates: a leaf, columns [begin, begin + width) of a matrix of `rows` rows.
template <class T>
struct LeafJob {
  T* a;  ///< its first column
  std::int64_t leading;
  int rows;
  int width;
  std::int64_t begin;
  double tolerance;
  EliminationState* state;
  PivotList<T> pivots;
  std::int64_t* rank_after;  ///< where the rank goes when the leaf is done
};

/// How leaves are held in the registers of one cluster of thread blocks. No kernel: they do not fit.
template <class T>
struct LeafPlan {
  void (*kernel)(LeafJob<T>) = nullptr;
  int width = 0;  ///< the most columns of a leaf
  unsigned blocks = 0;
  unsigned threads = 0;
  std::size_t shared_bytes = 0;
};

/// Plans leaves of at most `widest` columns, as wide as fits for m rows. Asks the GPU, without waiting for
/// it.
template <class T>
[[nodiscard]] LeafPlan<T> plan_leaves(const Cuda& backend, std::int64_t m, std::int64_t widest,
                                      const PanelTuning& tuning);

/// Eliminates a leaf with a plan that has a kernel.
template <class T>
void factor_leaf(const Cuda& backend, const LeafPlan<T>& plan, const LeafJob<T>& job);

}  // namespace echelon

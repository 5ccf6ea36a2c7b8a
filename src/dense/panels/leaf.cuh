// SPDX-License-Identifier: BSD-3-Clause
/// Leaves of the recursion over a panel (getrf2): the columns that one kernel eliminates (getf2), in the
/// shared memory of a cluster of thread blocks.
///
/// These functions do not wait for the GPU: ranks stay in its memory, and everything whose size depends on
/// them has the size for full rank, padded with zeros.
#pragma once

#include "dense/panels/panel.hpp"
#include "dense/panels/workspace.cuh"

#include <cstddef>
#include <cstdint>

namespace echelon {

enum class EliminationKind { gauss_jordan, lu };

/// Argument of a leaf kernel: columns [begin, begin + width) of a matrix of `rows` rows.
template <class T>
struct LeafJob {
  using Element = T;
  static constexpr EliminationKind elimination = EliminationKind::gauss_jordan;
  static constexpr bool iterated = false;
  T* a;  ///< first column of the leaf
  std::int64_t leading;
  int rows;
  int width;
  std::int64_t begin;
  EliminationState* state;
  PivotList<T> pivots;
  std::int64_t* rank_after;  ///< receives the rank after the leaf
};

/// Rows that row exchanges moved: row i is now what row `origins[i]` was. `composed`: the exchanges come
/// after those that `origins` has already; the numbers in it are those of the rows before all of them.
struct RowOrigins {
  int* origins = nullptr;  ///< of the rows from the leaf's first one on; null: not wanted
  bool composed = false;
};

/// Argument of a leaf kernel for LU: the columns and rows from a diagonal element on, width <= rows. Receives
/// L below the diagonal and U above it.
template <class T>
struct LuLeafJob {
  using Element = T;
  static constexpr EliminationKind elimination = EliminationKind::lu;
  static constexpr bool iterated = false;
  T* a;  ///< the diagonal element
  std::int64_t leading;
  int rows;
  int width;
  std::int64_t begin;    ///< row of the diagonal element in the matrix
  std::int64_t* pivots;  ///< pivots[c] = row of the matrix that is exchanged with row begin + c
  RowOrigins of_leaf, of_panel, of_matrix;
  T* exchange;  ///< workspace of lu_exchange_size elements
};

/// Counts of sections whose columns are factored together, by an iteration; see inner_block_iteration.cuh.
struct SectionCounts {
  std::int64_t sections = 0;
  std::int64_t direct_sections = 0;  ///< of these, that were then factored column by column
  std::int64_t sweeps = 0, most_sweeps = 0;
  std::int64_t exchanges = 0;  ///< of rows
  std::int64_t elements = 0;   ///< evaluations of a formula in sweeps
};

/// Sections by iteration: settings, and memory of the GPU.
template <class T>
struct SectionIteration {
  double tolerance = 0;   ///< an element has converged when a sweep changes it by no more than this
  T* square;              ///< workspace of section_square_size elements
  int* votes;             ///< workspace of section_votes elements
  SectionCounts* counts;  ///< are added to
};
inline constexpr std::int64_t section_square_size = 256;
inline constexpr std::int64_t section_votes = 16;

/// Argument of a leaf kernel for LU in iterated sections. The factors are those of LuLeafJob.
template <class T>
struct IteratedLeafJob : LuLeafJob<T> {
  static constexpr bool iterated = true;
  SectionIteration<T> iteration;
};

/// Elements through which blocks exchange the pivot rows of a leaf of LU.
inline constexpr std::int64_t lu_exchange_size = std::int64_t{2} * max_panel_width * 16;

/// Kernel and launch configuration for leaves of one height. No kernel: they do not fit into a cluster.
template <class T, class Job = LeafJob<T>>
struct LeafPlan {
  void (*kernel)(Job) = nullptr;
  int width = 0;  ///< the most columns of a leaf
  unsigned blocks = 0;
  unsigned threads = 0;
  std::size_t shared_bytes = 0;
};

/// Plans leaves of at most `max_width` columns, as wide as fits for m rows. Queries the GPU without waiting
/// for queued work.
template <class T, class Job = LeafJob<T>>
[[nodiscard]] LeafPlan<T, Job> plan_leaves(const Cuda& backend, std::int64_t m, std::int64_t max_width,
                                           const PanelTuning& tuning);

/// Queues the elimination of a leaf, with a plan that has a kernel, on `stream`.
template <class T, class Job>
void factor_leaf(const Cuda& backend, const LeafPlan<T, Job>& plan, const Job& job, cudaStream_t stream);

}  // namespace echelon

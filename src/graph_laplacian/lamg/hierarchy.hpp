// SPDX-License-Identifier: BSD-3-Clause
/// The levels of lean algebraic multigrid.
#pragma once

#include "graph_laplacian/lamg/aggregation.hpp"
#include "graph_laplacian/lamg/dense_factors.hpp"
#include "graph_laplacian/lamg/elimination.hpp"
#include "graph_laplacian/lamg/interpolation.hpp"
#include "support/setup_control.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon::lamg {

struct SetupOptions {
  AggregationThresholds aggregation;
  /// Number of vertices up to which a level is solved directly.
  std::int32_t coarse_size = 100;
  std::size_t max_levels = 100;
  int test_sweeps = 4;
  /// Error reduction factor per sweep up to which relaxation is fast enough for a level not to be coarsened.
  /// LAMG has 0.3, with which expanders, such as social graphs, get one or two more levels, whose set-up
  /// takes longer than it saves.
  double fast_relaxation = 0.45;
  /// Number of further sweeps, after those of the test vectors, that have to reduce errors as fast.
  int late_sweeps = 8;
  double cycle_index = 1.5;
  /// Largest number of aggregates, 1 or 2, from which a vertex is interpolated.
  int caliber = 2;
  /// Largest ratio of the work of a cycle on a level to that on the next finer level.
  double work_guard = 0.7;
};

/// A level: the elimination that leads to its graph, and the aggregation that leads to the next coarser one.
template <class T>
struct Level {
  EliminatedVertices<T> elimination;  ///< from A, or from the quotient graph of the finer level
  LowerTriangle<T> matrix;
  Array<std::int32_t> aggregate;   ///< aggregate of each vertex; empty on the coarsest level
  Interpolation<T> interpolation;  ///< from second aggregates; empty with caliber 1
  std::int64_t fine_edges = 0;     ///< number of edges before the elimination
  std::int64_t edges = 0;          ///< number of edges after it
  double cycle_index = 1;          ///< visits of the next coarser level per visit of this one
  double seconds = 0;              ///< time for the set-up of this level

  [[nodiscard]] std::size_t bytes() const {
    return elimination.bytes() + matrix.bytes() + aggregate.bytes() + interpolation.bytes();
  }
};

template <class T>
struct LamgHierarchy {
  Vector<std::int32_t> order;  ///< row of A of each vertex of the finest level; empty for the identity
  std::vector<Level<T>> levels;
  DenseLaplacianFactors<T> coarsest;
  bool direct = true;  ///< true if the coarsest level is solved by `coarsest`, false if by sweeps
  std::string end;     ///< why the coarsest level was not coarsened

  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = coarsest.bytes() + sizeof(std::int32_t) * order.size();
    for (const Level<T>& level : levels) bytes += level.bytes();
    return bytes;
  }
};

/// Builds the hierarchy of a graph. If `previous` is given, the hierarchy of a graph with the same edges and
/// other weights, its aggregates are reused. Ends early once a stop is requested.
template <class T>
[[nodiscard]] LamgHierarchy<T> make_hierarchy(Graph<T> graph, const SetupOptions& options,
                                              const SetupControl& control,
                                              const LamgHierarchy<T>* previous = nullptr);

}  // namespace echelon::lamg

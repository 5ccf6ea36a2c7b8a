// SPDX-License-Identifier: BSD-3-Clause
/// The levels of lean algebraic multigrid.
#pragma once

#include "graph_laplacian/lamg/aggregation.hpp"
#include "graph_laplacian/lamg/dense_elimination.hpp"
#include "graph_laplacian/lamg/elimination.hpp"

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

namespace echelon::lamg {

struct SetupOptions {
  AggregationOptions aggregation;
  /// Vertices up to which a level is solved directly.
  std::int32_t coarse_size = 100;
  std::size_t max_levels = 100;
  int test_sweeps = 4;
  /// A level on which sweeps reduce random errors to this part each is not coarsened. LAMG: 0.3; then
  /// expanders, such as social graphs, get one or two levels more, whose set-up takes longer than it saves.
  double fast_relaxation = 0.45;
  /// Sweeps after those of the test vectors that have to reduce errors as fast.
  int late_sweeps = 8;
  double cycle_index = 1.5;
  /// Part by which the work of a cycle may grow from level to level.
  double work_guard = 0.7;
};

/// A level: the elimination that leads to its graph, and the way to the next one.
template <class T>
struct Level {
  Elimination<T> elimination;  ///< from A, or from the quotient graph of the finer level
  LowerTriangle<T> matrix;
  Array<std::int32_t> aggregate;  ///< of the next level, before its elimination; none on the coarsest
  std::int64_t fine_edges = 0;    ///< before the elimination
  std::int64_t edges = 0;         ///< after it
  double cycle_index = 1;         ///< visits of the next level for each one of this
  double seconds = 0;             ///< that its set-up took

  [[nodiscard]] std::size_t bytes() const { return elimination.bytes() + matrix.bytes() + aggregate.bytes(); }
};

template <class T>
struct Hierarchy {
  std::vector<std::int32_t> order;  ///< vertex i of the finest level is order[i] of A; none: their own order
  std::vector<Level<T>> levels;
  DenseElimination<T> coarsest;
  bool direct = true;  ///< the coarsest level is solved by `coarsest`, else by sweeps
  std::string end;     ///< why the coarsest level was not coarsened

  [[nodiscard]] std::size_t bytes() const {
    std::size_t bytes = coarsest.bytes() + sizeof(std::int32_t) * order.size();
    for (const Level<T>& level : levels) bytes += level.bytes();
    return bytes;
  }
};

/// Builds the hierarchy of a graph. With `previous`, the hierarchy of a graph with the same edges and other
/// weights, its aggregates are taken over. Ends early once `cancel` asks for it.
template <class T>
[[nodiscard]] Hierarchy<T> make_hierarchy(Graph<T> graph, const SetupOptions& options,
                                          const std::stop_token& cancel,
                                          const Hierarchy<T>* previous = nullptr);

}  // namespace echelon::lamg

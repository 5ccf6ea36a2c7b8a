// SPDX-License-Identifier: BSD-3-Clause
/// Aggregation of a graph's vertices by affinity, guarded by the energy of test vectors.
#pragma once

#include "graph_laplacian/lamg/graph.hpp"
#include "graph_laplacian/lamg/test_vectors.hpp"

#include <cstdint>

namespace echelon::lamg {

struct AggregationThresholds {
  /// Stages end once the number of aggregates is at most this fraction of the vertices: the growth of a
  /// cycle's work per level, 0.7, divided by the cycle index, 1.5.
  double ratio = 0.7 / 1.5;
  int stages = 2;
  /// An edge is strong if its weight is at least this fraction of the smaller of its ends' largest weights.
  double strength = 0.1;
  /// A vertex does not join across an edge lighter than this fraction of its largest weight. LAMG+: 0.05.
  double veto = 0.05;
  /// A vertex is a hub, and a seed, if its degree is at least this multiple of its neighbours' mean degree.
  double hub = 8;
  /// The energy of a vertex's test values may grow by this factor when it takes those of its seed.
  double energy_ratio = 2.5;
};

/// Map of vertices to aggregates, which are numbered in the order of their first members.
struct VertexAggregates {
  Array<std::int32_t> of;  ///< aggregate of each vertex
  std::int32_t count = 0;
  Array<std::int32_t> seeds = {};  ///< vertex of each aggregate that the others joined
};

/// Makes the aggregates of `graph`. Overwrites the test values of each vertex that joins by those of its
/// seed.
template <class T>
[[nodiscard]] VertexAggregates aggregate(const Graph<T>& graph, TestVectors& vectors,
                                         const AggregationThresholds& options);

/// Compares the energy of the star of vertex i, the sum of w (y - x_v)^2 / 2 over its edges, for y = `at` and
/// for the minimising y. True if the former is at most `ratio` times the latter for every test vector.
template <class T>
[[nodiscard]] bool energy_allows(const Graph<T>& graph, const Vector<TestValues>& x, std::int32_t i,
                                 const TestValues& at, double ratio);

}  // namespace echelon::lamg

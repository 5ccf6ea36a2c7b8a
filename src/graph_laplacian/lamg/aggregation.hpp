// SPDX-License-Identifier: BSD-3-Clause
/// Aggregation of a graph's vertices by affinity, guarded by the energy of test vectors.
#pragma once

#include "graph_laplacian/lamg/graph.hpp"
#include "graph_laplacian/lamg/test_vectors.hpp"

#include <cstdint>

namespace echelon::lamg {

struct AggregationOptions {
  /// Stages end once the aggregates are at most this part of the vertices: the 0.7 that a cycle's work may
  /// grow by, over the cycle index 1.5.
  double ratio = 0.7 / 1.5;
  int stages = 2;
  /// An edge is strong if its weight is at least this part of the smaller of its ends' largest weights.
  double strength = 0.1;
  /// A vertex does not join across an edge of less than this part of its own largest weight. LAMG+: 0.05.
  double veto = 0.05;
  /// A vertex with so many times the mean number of neighbours of its neighbours is a hub, and a seed.
  double hub = 8;
  /// The energy of a vertex's test values may grow by this factor when it takes those of its seed.
  double energy_ratio = 2.5;
};

/// A map of vertices to aggregates, numbered by their first members.
struct Aggregates {
  Array<std::int32_t> of;  ///< aggregate of each vertex
  std::int32_t count = 0;
};

/// Aggregates of `graph`. Test vectors are changed: those of a vertex become its seed's.
template <class T>
[[nodiscard]] Aggregates aggregate(const Graph<T>& graph, TestVectors& vectors,
                                   const AggregationOptions& options);

/// Energy of the star of vertex i, sum of w (y - x_v)^2 / 2 over its edges, for y = `at` and for the best y:
/// whether the first is within `ratio` of the second for every test vector.
template <class T>
[[nodiscard]] bool energy_allows(const Graph<T>& graph, const std::vector<TestValues>& x, std::int32_t i,
                                 const TestValues& at, double ratio);

}  // namespace echelon::lamg

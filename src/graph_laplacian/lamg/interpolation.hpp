// SPDX-License-Identifier: BSD-3-Clause
/// Interpolation from two aggregates, for vertices that lie between them.
#pragma once

#include "graph_laplacian/lamg/aggregation.hpp"

#include <cstdint>
#include <limits>

namespace echelon::lamg {

/// Prolongation P with one or two elements in a row: P(i, aggregate[i]) = 1 - share[i] and
/// P(i, second[i]) = share[i].
template <class T>
struct Interpolation {
  Array<std::int32_t> second;  ///< empty if no vertex has a second aggregate
  Array<T> share;              ///< 0 for a vertex with one aggregate
  std::int32_t count = 0;      ///< number of vertices with two aggregates

  [[nodiscard]] bool empty() const { return share.size() == 0; }
  [[nodiscard]] std::size_t bytes() const { return second.bytes() + share.bytes(); }
};

/// Most ends of edges of a graph for which galerkin_graph() is called: the coarse graph may have six times as
/// many, with 32-bit indices.
inline constexpr std::int64_t most_interpolated_ends = std::numeric_limits<std::int32_t>::max() / 6;

/// Finds the vertices, other than seeds, that lie between two aggregates a and b: edges of at least half the
/// largest weights of both ends lead to these two alone. x_i = (1 - s) x_a + s x_b is fitted to the test
/// vectors, where the value of an aggregate is that of its seed. A share s outside [0, 1] is rejected. O.
/// Livne, LAMG+ (2026).
template <class T>
[[nodiscard]] Interpolation<T> interpolate(const Graph<T>& graph, const Vector<TestValues>& x,
                                           const VertexAggregates& aggregates);

/// Makes the graph of P^T A P for the Laplacian A of `graph`, without the edges of negative weights that
/// interpolation may cause. The graph stays connected: without these edges no vector has less energy.
template <class T>
[[nodiscard]] Graph<T> galerkin_graph(const Graph<T>& graph, const VertexAggregates& aggregates,
                                      const Interpolation<T>& P);

}  // namespace echelon::lamg

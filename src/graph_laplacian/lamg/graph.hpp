// SPDX-License-Identifier: BSD-3-Clause
/// Weighted undirected graphs of a hierarchy.
#pragma once

#include "graph_laplacian/lamg/vector.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon::lamg {

/// Weighted graph of n vertices with the Laplacian D - W. Row i lists the neighbours with indices below i
/// first, in [offsets[i], middle[i]), and then those above, in [middle[i], offsets[i + 1]). Neither part is
/// sorted. There are no loops and no duplicates; weights are positive.
template <class T>
struct Graph {
  Graph() = default;
  Graph(std::int32_t vertices, std::int64_t ends)
      : n(vertices),
        offsets(Device::serial(), vertices + 1),
        middle(Device::serial(), vertices),
        neighbours(Device::serial(), ends),
        weights(Device::serial(), ends),
        degree(Device::serial(), vertices) {
    offsets[0] = 0;
  }

  std::int32_t n = 0;
  Array<std::int32_t> offsets;
  Array<std::int32_t> middle;
  Array<std::int32_t> neighbours;
  Array<T> weights;
  Array<T> degree;  ///< sum of the weights of each row: the diagonal D

  /// Twice the number of edges.
  [[nodiscard]] std::int64_t ends() const { return n == 0 ? 0 : offsets[n]; }
  [[nodiscard]] std::int32_t neighbours_of(std::int32_t i) const { return offsets[i + 1] - offsets[i]; }
};

/// Makes the graph of a Laplacian from its negative off-diagonal elements; the diagonal is not read. Returns
/// an empty graph if A has 2^31 nonzeros or more.
template <class T>
[[nodiscard]] Graph<T> graph_of(const Csr<T>& A);

/// Orders vertices component by component, breadth first, if neighbours in the given numbering are so far
/// apart that most accesses would miss the caches; otherwise returns an empty vector. Cycles take twice as
/// long in a random numbering.
[[nodiscard]] Vector<std::int32_t> local_order(const std::int32_t* offsets, const std::int32_t* neighbours,
                                               std::int32_t n);

/// Makes the graph whose vertex i is vertex order[i] of `graph`.
template <class T>
[[nodiscard]] Graph<T> renumbered(const Graph<T>& graph, const Vector<std::int32_t>& order);

/// Makes the quotient graph: vertices with equal aggregate[i], in [0, count), become one; edges inside an
/// aggregate disappear, weights of parallel edges are added. Its Laplacian is P^T A P for the Laplacian A of
/// `graph` and P(i, aggregate[i]) = 1.
template <class T>
[[nodiscard]] Graph<T> contract(const Graph<T>& graph, const Array<std::int32_t>& aggregate,
                                std::int32_t count);

/// Lower triangle of a Laplacian, all that sweeps need: for each vertex the edges to vertices of lower index.
template <class T>
struct LowerTriangle {
  LowerTriangle() = default;
  explicit LowerTriangle(const Graph<T>& graph);

  std::int32_t n = 0;
  Array<std::int32_t> offsets;
  Array<std::int32_t> neighbours;
  Array<T> weights;
  Array<T> inverse;  ///< inverse of the diagonal; 0 for a vertex without edges

  [[nodiscard]] std::size_t bytes() const {
    return offsets.bytes() + neighbours.bytes() + weights.bytes() + inverse.bytes();
  }
};

extern template struct LowerTriangle<float>;
extern template struct LowerTriangle<double>;

}  // namespace echelon::lamg

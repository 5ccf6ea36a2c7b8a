// SPDX-License-Identifier: BSD-3-Clause
/// Weighted undirected graphs of a hierarchy.
#pragma once

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::lamg {

/// The Laplacian D - W of n vertices: row i lists its neighbours, those below i first, in [offsets[i],
/// middle[i]), then those above, in [middle[i], offsets[i + 1]). Neither part is sorted. No loops, no
/// duplicates; weights are positive.
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
  Array<T> degree;  ///< sums of weights: the diagonal

  /// Twice the number of edges.
  [[nodiscard]] std::int64_t ends() const { return n == 0 ? 0 : offsets[n]; }
  [[nodiscard]] std::int32_t neighbours_of(std::int32_t i) const { return offsets[i + 1] - offsets[i]; }
};

/// The graph of a Laplacian: edges for its negative elements beside the diagonal, which is not read. Returns
/// an empty graph if A has 2^31 nonzeros or more.
template <class T>
[[nodiscard]] Graph<T> graph_of(const Csr<T>& A);

/// Vertices component by component in breadth-first order, if neighbours in the present numbering are so far
/// apart that most accesses would miss the caches; else nothing. Random numberings take twice as long.
[[nodiscard]] std::vector<std::int32_t> local_order(const std::int32_t* offsets,
                                                    const std::int32_t* neighbours, std::int32_t n);

/// The graph whose vertex i is vertex order[i] of `graph`.
template <class T>
[[nodiscard]] Graph<T> renumbered(const Graph<T>& graph, const std::vector<std::int32_t>& order);

/// The quotient graph: vertices with equal aggregate[i], in [0, count), become one; edges inside an aggregate
/// disappear, weights of parallel edges are added. It is P^T A P for the P with P(i, aggregate[i]) = 1.
template <class T>
[[nodiscard]] Graph<T> contract(const Graph<T>& graph, const Array<std::int32_t>& aggregate,
                                std::int32_t count);

/// The half of a Laplacian that sweeps need: for each vertex the edges to lower ones.
template <class T>
struct LowerTriangle {
  LowerTriangle() = default;
  explicit LowerTriangle(const Graph<T>& graph);

  std::int32_t n = 0;
  Array<std::int32_t> offsets;
  Array<std::int32_t> neighbours;
  Array<T> weights;
  Array<T> inverse;  ///< of the diagonal; 0 for a vertex without edges

  [[nodiscard]] std::size_t bytes() const {
    return offsets.bytes() + neighbours.bytes() + weights.bytes() + inverse.bytes();
  }
};

extern template struct LowerTriangle<float>;
extern template struct LowerTriangle<double>;

}  // namespace echelon::lamg

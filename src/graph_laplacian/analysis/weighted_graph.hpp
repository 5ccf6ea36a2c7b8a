// SPDX-License-Identifier: BSD-3-Clause
/// Graphs of conductors as adjacency lists and as dense triangles, for Kron reductions.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon::graph {

struct WeightedNeighbour {
  std::int32_t vertex;
  double weight;
};

/// Graph by adjacency lists: local vertex i is vertices[i], ascending, and has the neighbours [offsets[i],
/// offsets[i + 1]), by local numbers. Each edge occurs in the lists of both ends.
struct SparseGraph {
  std::vector<std::int32_t> vertices;
  std::vector<std::size_t> offsets;
  std::vector<WeightedNeighbour> neighbours;
  [[nodiscard]] std::span<const WeightedNeighbour> of(std::size_t i) const {
    return {neighbours.data() + offsets[i], offsets[i + 1] - offsets[i]};
  }
};

/// Graph by the weights of all pairs of vertices, zero where there is no edge: the strict lower triangle, row
/// by row.
struct DenseGraph {
  std::vector<std::int32_t> vertices;
  std::vector<double> weights;
  explicit DenseGraph(std::vector<std::int32_t> numbers)
      : vertices(std::move(numbers)), weights(vertices.size() * (vertices.size() - 1) / 2, 0) {}
  /// Weights of the edges of i to 0, ..., i - 1.
  [[nodiscard]] double* row(std::size_t i) { return weights.data() + i * (i - 1) / 2; }
  [[nodiscard]] const double* row(std::size_t i) const { return weights.data() + i * (i - 1) / 2; }
  [[nodiscard]] double weight(std::size_t i, std::size_t j) const { return i > j ? row(i)[j] : row(j)[i]; }
};

/// Graph of a Laplacian, from the elements above its diagonal; explicit zeros are not edges. Vertex v of the
/// Laplacian gets the number position[v], a permutation.
SparseGraph graph_of(const Csr<double>& L, std::span<const std::int32_t> position);

/// Positions of the vertices in an order that keeps near vertices together: the graph is halved along a
/// breadth-first search from a peripheral vertex, and the halves again, down to a few vertices. O(edges log
/// vertices) time.
std::vector<std::int32_t> bisection_order(const Csr<double>& L);

}  // namespace echelon::graph

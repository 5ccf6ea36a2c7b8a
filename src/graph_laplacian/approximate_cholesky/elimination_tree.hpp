// SPDX-License-Identifier: BSD-3-Clause
/// Nested dissection for parallel elimination: parts of a graph that are eliminated independently of each
/// other, and the separators between them.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::graph_laplacian {

/// Complete binary tree over the vertices. The ends of every edge are in one node, or one of them in an
/// ancestor of the other's, so that nodes of one level can be eliminated at the same time, children before
/// parents. Sampled edges keep this property. Level 0 has the leaves; node i of level l has the children 2 i
/// and 2 i + 1 of level l - 1. Nodes are numbered level by level.
struct EliminationTree {
  static constexpr int most_levels = 7;
  int levels = 1;
  std::vector<std::uint8_t> level_of;  ///< level of each vertex
  std::vector<std::uint8_t> leaf_of;   ///< leaf below each vertex's node
  std::vector<std::int32_t> members;   ///< vertices by node, ascending within each
  std::vector<std::int64_t> offsets;   ///< of the nodes in `members`
  std::vector<std::int32_t> rank;      ///< index of each vertex in its node

  [[nodiscard]] std::int32_t nodes() const { return 2 * width(0) - 1; }
  /// Number of nodes of a level.
  [[nodiscard]] std::int32_t width(int level) const { return std::int32_t{1} << (levels - 1 - level); }
  [[nodiscard]] std::int32_t first_node(int level) const { return 2 * width(0) - 2 * width(level); }
  [[nodiscard]] std::array<std::int32_t, 2> children(std::int32_t node, int level) const {
    const std::int32_t first = first_node(level - 1) + 2 * (node - first_node(level));
    return {first, first + 1};
  }
  [[nodiscard]] std::int32_t node_of(std::int32_t v) const {
    const int level = level_of[static_cast<std::size_t>(v)];
    return first_node(level) + (leaf_of[static_cast<std::size_t>(v)] >> level);
  }
  [[nodiscard]] std::int64_t size(std::int32_t node) const {
    return offsets[static_cast<std::size_t>(node) + 1] - offsets[static_cast<std::size_t>(node)];
  }
};

/// Makes the tree for the graph of a symmetric A, in O(nonzeros) time. A single node for small graphs, and
/// for those whose separators would be large, as in power-law graphs: those are eliminated on one core. The
/// tree depends on A and `smallest_leaf` alone, the least mean number of vertices below a leaf's node:
/// smaller leaves cost iterations.
template <class B>
[[nodiscard]] EliminationTree dissect(B& backend, const Csr<double>& A, std::int64_t smallest_leaf = 16384);

}  // namespace echelon::graph_laplacian

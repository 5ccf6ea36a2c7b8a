// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/dissection/leaf_ordering.hpp"

#include "backend/device/memory_limits.hpp"

#include <echelon/error.hpp>

#include <camd.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

namespace {

using Integer = SuiteSparse_long;  // a leaf that has no good separator may be large

/// A leaf and the vertices around it, numbered from 0, those of the leaf first.
struct LeafGraph {
  std::vector<Integer> begin = {0};
  std::vector<Integer> neighbours;
  std::vector<Integer> constraint;  // 0 in the leaf, 1 around it
};

/// Vertices outside the leaf that are connected to it, ascending.
std::vector<std::int32_t> surrounding(const Pattern& a, std::span<const SeparatorTree::Node> label,
                                      std::span<const std::int32_t> vertices) {
  std::vector<std::int32_t> around;
  const SeparatorTree::Node leaf = label[vertices.front()];
  for (const std::int32_t v : vertices) {
    for (const std::int32_t u : a.row(v)) {
      if (label[u] != leaf) around.push_back(u);
    }
  }
  std::sort(around.begin(), around.end());
  around.erase(std::unique(around.begin(), around.end()), around.end());
  return around;
}

LeafGraph leaf_graph(const Pattern& a, std::span<const SeparatorTree::Node> label,
                     std::span<const std::int32_t> vertices, std::span<std::int32_t> position) {
  const SeparatorTree::Node leaf = label[vertices.front()];
  const std::vector<std::int32_t> around = surrounding(a, label, vertices);
  for (std::size_t k = 0; k < vertices.size(); ++k) position[vertices[k]] = static_cast<std::int32_t>(k);
  LeafGraph graph;
  for (std::size_t k = 0; k < vertices.size(); ++k) {
    for (const std::int32_t u : a.row(vertices[k])) {
      if (label[u] == leaf) {
        graph.neighbours.push_back(position[u]);
      } else {
        const auto place = std::lower_bound(around.begin(), around.end(), u) - around.begin();
        graph.neighbours.push_back(static_cast<Integer>(std::ssize(vertices) + place));
      }
    }
    graph.begin.push_back(static_cast<Integer>(graph.neighbours.size()));
  }
  // CAMD adds the transposed entries.
  graph.begin.resize(vertices.size() + around.size() + 1, static_cast<Integer>(graph.neighbours.size()));
  graph.constraint.resize(vertices.size() + around.size(), 1);
  std::fill_n(graph.constraint.begin(), vertices.size(), 0);
  return graph;
}

void order_by_degree(std::span<std::int32_t> vertices, const LeafGraph& graph) {
  const auto n = static_cast<Integer>(graph.constraint.size());
  std::vector<Integer> permutation(graph.constraint.size());
  const SuiteSparse_long status = camd_l_order(n, graph.begin.data(), graph.neighbours.data(),
                                               permutation.data(), nullptr, nullptr, graph.constraint.data());
  if (status == CAMD_OUT_OF_MEMORY) {
    throw host_out_of_memory((2 * graph.neighbours.size() + 10 * permutation.size()) * sizeof(Integer));
  }
  if (status < 0) throw InvalidMatrix("CAMD refuses the pattern: its columns are out of range");
  std::vector<std::int32_t> ordered;
  ordered.reserve(vertices.size());
  for (std::size_t k = 0; k < vertices.size(); ++k) ordered.push_back(vertices[permutation[k]]);
  std::copy(ordered.begin(), ordered.end(), vertices.begin());
}

}  // namespace

void order_leaf(const Pattern& a, std::span<const SeparatorTree::Node> label,
                std::span<std::int32_t> vertices, std::span<std::int32_t> position) {
  if (vertices.size() < 3) return;
  const LeafGraph graph = leaf_graph(a, label, vertices, position);
  if (!graph.neighbours.empty()) order_by_degree(vertices, graph);
}

}  // namespace echelon::sparse_direct

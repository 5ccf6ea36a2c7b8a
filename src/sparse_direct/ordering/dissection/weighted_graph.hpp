// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/pattern/pattern.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// An undirected graph with weights, which owns nothing: rows of a matrix, or clusters of rows.
struct WeightedGraph {
  Pattern pattern;
  std::span<const std::int32_t> vertex_weights;  ///< rows in each cluster; empty: 1
  std::span<const std::int32_t> edge_weights;    ///< for each entry of the pattern; empty: 1

  [[nodiscard]] std::int64_t size() const { return pattern.n; }
  [[nodiscard]] std::span<const std::int32_t> neighbours(std::int64_t v) const { return pattern.row(v); }
  [[nodiscard]] std::int32_t weight(std::int64_t v) const {
    return vertex_weights.empty() ? 1 : vertex_weights[v];
  }
  [[nodiscard]] std::int32_t edge_weight(std::int64_t position) const {
    return edge_weights.empty() ? 1 : edge_weights[position];
  }
};

/// A graph whose vertices are clusters of one or two vertices of a finer graph.
struct CoarseGraph {
  PatternStorage pattern;
  std::vector<std::int32_t> vertex_weights;
  UninitializedVector<std::int32_t> edge_weights;
  std::vector<std::int32_t> cluster_of;  ///< vertex of this graph for each vertex of the finer one

  [[nodiscard]] WeightedGraph view() const { return {pattern.view(), vertex_weights, edge_weights}; }
};

}  // namespace echelon::sparse_direct

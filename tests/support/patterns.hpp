// SPDX-License-Identifier: BSD-3-Clause
/// Symmetric patterns for the tests of orderings and of the symbolic factorisation.
#pragma once

#include "sparse_direct/pattern/pattern.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

using Edge = std::pair<std::int32_t, std::int32_t>;

/// The pattern with entries (i, j) and (j, i) for each edge; an edge (i, i) is a diagonal entry.
inline PatternStorage pattern_of_edges(std::int64_t n, std::vector<Edge> edges) {
  const std::size_t given = edges.size();
  for (std::size_t k = 0; k < given; ++k) edges.emplace_back(edges[k].second, edges[k].first);
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  PatternStorage pattern;
  pattern.row_begin.assign(static_cast<std::size_t>(n) + 1, 0);
  for (const auto& [i, j] : edges) {
    ++pattern.row_begin[i + 1];
    pattern.columns.push_back(j);
  }
  for (std::int64_t i = 0; i < n; ++i) pattern.row_begin[i + 1] += pattern.row_begin[i];
  return pattern;
}

inline PatternStorage random_pattern(std::int32_t n, int edges, std::mt19937& random) {
  std::uniform_int_distribution<std::int32_t> row(0, n - 1);
  std::vector<Edge> list;
  for (int k = 0; k < edges; ++k) list.emplace_back(row(random), row(random));
  return pattern_of_edges(n, std::move(list));
}

inline PatternStorage path_pattern(std::int32_t n) {
  std::vector<Edge> edges;
  for (std::int32_t i = 0; i + 1 < n; ++i) edges.emplace_back(i, i + 1);
  return pattern_of_edges(n, std::move(edges));
}

/// All rows are connected to row `centre` only.
inline PatternStorage star_pattern(std::int32_t n, std::int32_t centre) {
  std::vector<Edge> edges;
  for (std::int32_t i = 0; i < n; ++i) edges.emplace_back(i, centre);
  return pattern_of_edges(n, std::move(edges));
}

/// Grid of width by height points, each connected to its four neighbours.
inline PatternStorage grid_pattern(std::int32_t width, std::int32_t height) {
  std::vector<Edge> edges;
  for (std::int32_t y = 0; y < height; ++y) {
    for (std::int32_t x = 0; x < width; ++x) {
      const std::int32_t i = y * width + x;
      edges.emplace_back(i, i);
      if (x + 1 < width) edges.emplace_back(i, i + 1);
      if (y + 1 < height) edges.emplace_back(i, i + width);
    }
  }
  return pattern_of_edges(width * height, std::move(edges));
}

struct NamedPattern {
  std::string name;
  PatternStorage pattern;
};

/// Small patterns of every awkward kind.
inline std::vector<NamedPattern> small_patterns() {
  std::vector<NamedPattern> patterns;
  patterns.push_back({"empty", pattern_of_edges(0, {})});
  patterns.push_back({"no arrays", {}});
  patterns.push_back({"1x1", pattern_of_edges(1, {{0, 0}})});
  patterns.push_back({"1x1 without diagonal", pattern_of_edges(1, {})});
  patterns.push_back({"diagonal", pattern_of_edges(5, {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 4}})});
  patterns.push_back({"no entries", pattern_of_edges(5, {})});
  patterns.push_back({"path", path_pattern(33)});
  patterns.push_back({"arrow pointing up", star_pattern(40, 0)});
  patterns.push_back({"arrow pointing down", star_pattern(40, 39)});
  patterns.push_back({"star", star_pattern(40, 17)});
  patterns.push_back({"grid", grid_pattern(9, 7)});
  patterns.push_back({"long grid", grid_pattern(31, 3)});
  std::mt19937 random(5);
  for (int k = 0; k < 60; ++k) {
    const std::int32_t n = 2 + k;
    patterns.push_back({"random " + std::to_string(k), random_pattern(n, n * (1 + k % 4) / 2, random)});
  }
  return patterns;
}

}  // namespace echelon::sparse_direct

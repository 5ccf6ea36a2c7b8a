// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/analysis/weighted_graph.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace echelon::graph {

namespace {

/// Calls f(i, j, weight) for each edge, with i < j.
template <class F>
void for_each_edge(const Csr<double>& L, const F& f) {
  for (std::int64_t i = 0; i < L.rows(); ++i) {
    for (std::int64_t k = L.row_offsets()[i]; k < L.row_offsets()[i + 1]; ++k) {
      const std::int64_t j = L.column_indices()[k];
      if (j > i && L.values()[k] != 0) {
        f(static_cast<std::size_t>(i), static_cast<std::size_t>(j), -L.values()[k]);
      }
    }
  }
}

/// Halves a graph again and again along breadth-first searches.
class BreadthFirstBisection {
 public:
  explicit BreadthFirstBisection(const SparseGraph& graph)
      : graph_(graph), order_(graph.vertices), part_(order_.size(), 0), visited_(order_.size(), 0) {}

  /// Vertices in their order.
  std::vector<std::int32_t> run() {
    std::vector<std::pair<std::size_t, std::size_t>> open = {{0, order_.size()}};
    while (!open.empty()) {
      const auto [first, last] = open.back();
      open.pop_back();
      if (last - first <= smallest_part) continue;
      search(first, last);  // its last vertex is far from the first one: peripheral
      std::swap(order_[first], order_[last - 1]);
      search(first, last);
      const std::size_t middle = first + (last - first) / 2;
      ++parts_;
      for (std::size_t p = middle; p < last; ++p) part_[index(order_[p])] = parts_;
      open.insert(open.end(), {{first, middle}, {middle, last}});
    }
    return std::move(order_);
  }

 private:
  static constexpr std::size_t smallest_part = 8;
  static std::size_t index(std::int32_t v) { return static_cast<std::size_t>(v); }

  /// Puts the vertices of a part in the order of a breadth-first search from its first one, and from another
  /// one wherever the search ends early.
  void search(std::size_t first, std::size_t last) {
    ++searches_;
    const std::int32_t part = part_[index(order_[first])];
    std::vector<std::int32_t> found;
    found.reserve(last - first);
    std::size_t next = 0;
    for (std::size_t p = first; p < last; ++p) {
      visit(order_[p], part, found);
      for (; next < found.size(); ++next) {
        for (const WeightedNeighbour& neighbour : graph_.of(index(found[next])))
          visit(neighbour.vertex, part, found);
      }
    }
    std::copy(found.begin(), found.end(), order_.begin() + static_cast<std::ptrdiff_t>(first));
  }
  void visit(std::int32_t v, std::int32_t part, std::vector<std::int32_t>& found) {
    if (part_[index(v)] != part || visited_[index(v)] == searches_) return;
    visited_[index(v)] = searches_;
    found.push_back(v);
  }

  const SparseGraph& graph_;
  std::vector<std::int32_t> order_;
  std::vector<std::int32_t> part_;
  std::vector<std::int64_t> visited_;  ///< number of the last search that met the vertex
  std::int32_t parts_ = 0;
  std::int64_t searches_ = 0;
};

}  // namespace

SparseGraph graph_of(const Csr<double>& L, std::span<const std::int32_t> position) {
  const auto n = static_cast<std::size_t>(L.rows());
  const auto place = [&](std::size_t v) { return static_cast<std::size_t>(position[v]); };
  SparseGraph graph;
  graph.vertices.resize(n);
  std::iota(graph.vertices.begin(), graph.vertices.end(), 0);
  graph.offsets.assign(n + 1, 0);
  for_each_edge(L, [&](std::size_t i, std::size_t j, double /*weight*/) {
    ++graph.offsets[place(i) + 1];
    ++graph.offsets[place(j) + 1];
  });
  std::partial_sum(graph.offsets.begin(), graph.offsets.end(), graph.offsets.begin());
  graph.neighbours.resize(graph.offsets.back());
  std::vector<std::size_t> end(graph.offsets.begin(), graph.offsets.end() - 1);
  for_each_edge(L, [&](std::size_t i, std::size_t j, double weight) {
    graph.neighbours[end[place(i)]++] = {position[j], weight};
    graph.neighbours[end[place(j)]++] = {position[i], weight};
  });
  return graph;
}

std::vector<std::int32_t> bisection_order(const Csr<double>& L) {
  std::vector<std::int32_t> position(static_cast<std::size_t>(L.rows()));
  std::iota(position.begin(), position.end(), 0);
  const SparseGraph graph = graph_of(L, position);
  const std::vector<std::int32_t> order = BreadthFirstBisection(graph).run();
  for (std::size_t p = 0; p < order.size(); ++p) {
    position[static_cast<std::size_t>(order[p])] = static_cast<std::int32_t>(p);
  }
  return position;
}

}  // namespace echelon::graph

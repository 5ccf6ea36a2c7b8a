// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/approximate_cholesky/elimination_tree.hpp"

#include "backend/target.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace echelon::graph_laplacian {

namespace {

constexpr std::int64_t most_leaves = std::int64_t{1} << (EliminationTree::most_levels - 1);
constexpr std::int64_t fewest_leaves = 8;
/// Number of vertices of a cluster; the clusters are divided among the leaves.
constexpr std::int64_t cluster_size = 128;
/// Largest part of the vertices in separators. They are eliminated last and with high degrees, mostly on few
/// cores.
constexpr double largest_separator_share = 0.2;

/// Graphs without small separators are recognised by a vertex of this multiple of the mean degree (hubs), or
/// by clusters that have this many neighbours on average, where those of meshes have about 8 to 30.
constexpr double hub_degree_ratio = 50;
constexpr std::size_t most_neighbours = 64;

/// Graph of clusters: vertices that a breadth-first search finds one after another.
struct ClusterGraph {
  std::vector<std::int32_t> cluster_of;  ///< cluster of each vertex
  std::vector<std::int32_t> weights;     ///< numbers of vertices
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> neighbours;
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(weights.size()); }
};

class Clustering {
 public:
  explicit Clustering(const Csr<double>& A)
      : offsets_(A.row_offsets().data()),
        columns_(A.column_indices().data()),
        values_(A.values().data()),
        n_(static_cast<std::int32_t>(A.rows())) {}

  /// Makes the graph; empty if it has no small separators.
  ClusterGraph run() {
    if (has_hubs()) return {};
    graph_.cluster_of.assign(static_cast<std::size_t>(n_), -1);
    members_.reserve(static_cast<std::size_t>(n_));
    for (std::int32_t v = 0; v < n_; ++v) {
      if (cluster(v) < 0) grow(v);
    }
    connect();
    return std::move(graph_);
  }

 private:
  [[nodiscard]] bool has_hubs() const {
    std::int64_t longest = 0;
    for (std::int64_t v = 0; v < n_; ++v) longest = std::max(longest, offsets_[v + 1] - offsets_[v]);
    return static_cast<double>(longest) * n_ > hub_degree_ratio * static_cast<double>(offsets_[n_]);
  }

  std::int32_t& cluster(std::int32_t v) { return graph_.cluster_of[static_cast<std::size_t>(v)]; }

  void grow(std::int32_t seed) {
    const std::int32_t own = graph_.size();
    const std::size_t first = members_.size();
    members_.push_back(seed);
    cluster(seed) = own;
    for (std::size_t next = first; next < members_.size(); ++next) {
      const std::int32_t v = members_[next];
      for (std::int64_t k = offsets_[v]; k < offsets_[v + 1]; ++k) {
        if (members_.size() - first == static_cast<std::size_t>(cluster_size)) break;
        const std::int32_t u = columns_[k];
        if (values_[k] == 0 || cluster(u) >= 0) continue;
        cluster(u) = own;
        members_.push_back(u);
      }
    }
    graph_.weights.push_back(static_cast<std::int32_t>(members_.size() - first));
  }

  void connect() {
    last_seen_.assign(graph_.weights.size(), -1);
    graph_.offsets.push_back(0);
    std::size_t begin = 0;
    for (std::int32_t c = 0; c < graph_.size(); ++c) {
      const std::size_t end = begin + static_cast<std::size_t>(graph_.weights[static_cast<std::size_t>(c)]);
      for (; begin < end; ++begin) {
        const std::int32_t v = members_[begin];
        for (std::int64_t k = offsets_[v]; k < offsets_[v + 1]; ++k) {
          const std::int32_t other = cluster(columns_[k]);
          std::int32_t& seen = last_seen_[static_cast<std::size_t>(other)];
          if (other == c || seen == c || values_[k] == 0) continue;
          seen = c;
          graph_.neighbours.push_back(other);
        }
      }
      graph_.offsets.push_back(static_cast<std::int32_t>(graph_.neighbours.size()));
      const auto connected = static_cast<std::size_t>(c) + 1;
      if (connected % 64 == 0 && graph_.neighbours.size() > most_neighbours * connected) {
        graph_ = {};
        return;
      }
    }
  }

  const std::int64_t* offsets_;
  const std::int32_t* columns_;
  const double* values_;
  std::int32_t n_;
  std::vector<std::int32_t> members_;
  std::vector<std::int32_t> last_seen_;  // by cluster: the cluster that last listed it as a neighbour
  ClusterGraph graph_;
};

/// Divides the clusters among leaves by recursive bisection: each time in the order of a breadth-first search
/// from one of the clusters farthest from another.
class Bisection {
 public:
  explicit Bisection(const ClusterGraph& graph)
      : graph_(&graph), part_(graph.weights.size(), 0), visit_(graph.weights.size(), 0) {}

  std::vector<std::uint8_t> run(int depth) {
    std::vector<std::int32_t> all(graph_->weights.size());
    std::iota(all.begin(), all.end(), 0);
    divide(std::move(all), 0, depth);
    return std::move(part_);
  }

 private:
  [[nodiscard]] std::int64_t weight(std::int32_t c) const {
    return graph_->weights[static_cast<std::size_t>(c)];
  }

  void divide(std::vector<std::int32_t> clusters, std::uint8_t first_leaf, int depth) {
    for (const std::int32_t c : clusters) part_[static_cast<std::size_t>(c)] = first_leaf;
    if (depth == 0 || clusters.empty()) return;
    const std::int32_t end = search(clusters, clusters.front(), first_leaf).back();
    const std::vector<std::int32_t> order = search(clusters, end, first_leaf);
    std::int64_t total = 0;
    for (const std::int32_t c : order) total += weight(c);
    std::int64_t left = 0;
    std::size_t split = 0;
    while (split < order.size() && 2 * (left + weight(order[split]) / 2) < total)
      left += weight(order[split++]);
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(split);
    const auto half = static_cast<std::uint8_t>(1U << static_cast<unsigned>(depth - 1));
    // The right half first: while it is divided, the left one keeps the number of the whole.
    divide({middle, order.end()}, static_cast<std::uint8_t>(first_leaf + half), depth - 1);
    divide({order.begin(), middle}, first_leaf, depth - 1);
  }

  /// Lists the clusters of one part in breadth-first order from `start`, component after component.
  std::vector<std::int32_t> search(const std::vector<std::int32_t>& clusters, std::int32_t start,
                                   std::uint8_t part) {
    ++searches_;
    std::vector<std::int32_t> order;
    order.reserve(clusters.size());
    const auto add = [&](std::int32_t c) {
      if (part_[static_cast<std::size_t>(c)] != part || visit_[static_cast<std::size_t>(c)] == searches_)
        return;
      visit_[static_cast<std::size_t>(c)] = searches_;
      order.push_back(c);
    };
    add(start);
    std::size_t next = 0;
    for (const std::int32_t seed : clusters) {
      for (; next < order.size(); ++next) {
        const auto c = static_cast<std::size_t>(order[next]);
        for (std::int32_t k = graph_->offsets[c]; k < graph_->offsets[c + 1]; ++k) {
          add(graph_->neighbours[static_cast<std::size_t>(k)]);
        }
      }
      add(seed);
    }
    return order;
  }

  const ClusterGraph* graph_;
  std::vector<std::uint8_t> part_;
  std::vector<std::int32_t> visit_;
  std::int32_t searches_ = 0;
};

/// Sets the level of a vertex: one with a neighbour in a later leaf moves up to the common ancestor of both.
/// Returns 1 if it leaves its leaf.
struct AssignLevel {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const double* values;
  const std::uint8_t* leaf_of;
  std::uint8_t* level_of;
  Sum operator()(std::int64_t v) const {
    const unsigned own = leaf_of[v];
    int level = 0;
    for (std::int64_t k = offsets[v]; k < offsets[v + 1]; ++k) {
      const unsigned other = leaf_of[columns[k]];
      if (other > own && values[k] != 0)
        level = std::max(level, static_cast<int>(std::bit_width(own ^ other)));
    }
    level_of[v] = static_cast<std::uint8_t>(level);
    return {level > 0 ? 1.0 : 0.0};
  }
};

/// Sets all levels; returns the number of vertices in separators.
template <class B>
double set_levels(B& backend, const Csr<double>& A, EliminationTree& tree) {
  double moved = 0;
  backend.reduce(A.rows(),
                 AssignLevel{A.row_offsets().data(), A.column_indices().data(), A.values().data(),
                             tree.leaf_of.data(), tree.level_of.data()},
                 [&moved](Sum sum) { moved = sum.value; });
  return moved;
}

/// Lists the members of each node.
void collect_members(EliminationTree& tree) {
  const auto n = static_cast<std::int32_t>(tree.level_of.size());
  tree.offsets.assign(static_cast<std::size_t>(tree.nodes()) + 1, 0);
  tree.rank.resize(static_cast<std::size_t>(n));
  tree.members.resize(static_cast<std::size_t>(n));
  for (std::int32_t v = 0; v < n; ++v) {
    tree.rank[static_cast<std::size_t>(v)] =
        static_cast<std::int32_t>(tree.offsets[static_cast<std::size_t>(tree.node_of(v)) + 1]++);
  }
  for (std::size_t k = 1; k < tree.offsets.size(); ++k) tree.offsets[k] += tree.offsets[k - 1];
  for (std::int32_t v = 0; v < n; ++v) {
    const std::int64_t place =
        tree.offsets[static_cast<std::size_t>(tree.node_of(v))] + tree.rank[static_cast<std::size_t>(v)];
    tree.members[static_cast<std::size_t>(place)] = v;
  }
}

EliminationTree single_node(std::int64_t n) {
  EliminationTree tree;
  tree.level_of.assign(static_cast<std::size_t>(n), 0);
  tree.leaf_of.assign(static_cast<std::size_t>(n), 0);
  collect_members(tree);
  return tree;
}

}  // namespace

template <class B>
EliminationTree dissect(B& backend, const Csr<double>& A, std::int64_t smallest_leaf) {
  const std::int64_t n = A.rows();
  const std::int64_t leaves = std::min(most_leaves, n / smallest_leaf);
  if (leaves < fewest_leaves) return single_node(n);
  EliminationTree tree;
  tree.levels = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(leaves)));
  const ClusterGraph graph = Clustering(A).run();
  if (graph.size() == 0) return single_node(n);
  const std::vector<std::uint8_t> part = Bisection(graph).run(tree.levels - 1);
  tree.leaf_of.resize(static_cast<std::size_t>(n));
  for (std::size_t v = 0; v < tree.leaf_of.size(); ++v) {
    tree.leaf_of[v] = part[static_cast<std::size_t>(graph.cluster_of[v])];
  }
  tree.level_of.resize(static_cast<std::size_t>(n));
  const double most = largest_separator_share * static_cast<double>(n);
  while (set_levels(backend, A, tree) > most) {
    if (tree.width(0) <= fewest_leaves) return single_node(n);
    for (std::uint8_t& leaf : tree.leaf_of) leaf /= 2;
    --tree.levels;
  }
  collect_members(tree);
  return tree;
}
template EliminationTree dissect(Host&, const Csr<double>&, std::int64_t);

}  // namespace echelon::graph_laplacian

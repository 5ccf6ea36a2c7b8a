// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/dissection/nested_dissection.hpp"

#include "sparse_direct/ordering/dense_rows.hpp"
#include "sparse_direct/ordering/dissection/coarsening.hpp"
#include "sparse_direct/ordering/dissection/leaf_ordering.hpp"
#include "sparse_direct/ordering/dissection/separator_refinement.hpp"
#include "sparse_direct/ordering/dissection/separator_tree.hpp"
#include "sparse_direct/ordering/dissection/weighted_graph.hpp"
#include "sparse_direct/ordering/row_groups.hpp"
#include "support/first_exception.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

using Node = SeparatorTree::Node;

/// Vertices by label, those of one label in ascending order.
class VerticesByLabel {
 public:
  VerticesByLabel(std::span<const Node> label, std::size_t nodes)
      : begin_(nodes + 1, 0), vertices_(label.size()) {
    for (const Node node : label) ++begin_[node + 1];
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    std::vector<std::int64_t> next(begin_.begin(), begin_.end());
    for (std::size_t v = 0; v < label.size(); ++v) vertices_[next[label[v]]++] = static_cast<std::int32_t>(v);
  }
  [[nodiscard]] std::span<std::int32_t> of(Node node) {
    return std::span(vertices_).subspan(static_cast<std::size_t>(begin_[node]),
                                        static_cast<std::size_t>(begin_[node + 1] - begin_[node]));
  }

 private:
  std::vector<std::int64_t> begin_;
  std::vector<std::int32_t> vertices_;
};

/// One level of the coarsening hierarchy: refines the separators of the tree from the root to the leaves, and
/// splits leaves that have enough vertices.
class Level {
 public:
  Level(const WeightedGraph& graph, std::span<Node> label, SeparatorTree& tree,
        const DissectionOptions& options, bool finest)
      : slot_(label.size(), -1),
        graph_{graph, label, slot_},
        tree_(tree),
        options_(options),
        finest_(finest),
        vertices_(label, tree.nodes()),
        arrivals_(tree.nodes()) {}

  void run() {
#pragma omp parallel num_threads(options_.threads) if (options_.threads > 1)
#pragma omp single
    exception_.catch_from([&] { visit(SeparatorTree::root); });
    exception_.rethrow();
  }

 private:
  void visit(Node t) {
    std::vector<std::int32_t> vertices = take_vertices(t);
    if (tree_.is_split(t)) {
      refine(t, vertices);
    } else if (!should_split(t, vertices) || !split(t, vertices)) {
      return;
    }
    vertices = {};
    // Tasks for small parts would cost more than they bring.
    const bool is_large = tree_.weight(t) > 2000;
    for (const int side : {0, 1}) {
      const Node child = SeparatorTree::child(t, side);
#pragma omp task firstprivate(child) if (is_large)
      exception_.catch_from([&] { visit(child); });
    }
  }

  /// Vertices with the label t.
  std::vector<std::int32_t> take_vertices(Node t) {
    std::vector<std::int32_t> taken;
    const auto take = [&](std::int32_t v) {
      if (!graph_.has_label(v, t) || slot_[v] >= 0) return;
      slot_[v] = 0;
      taken.push_back(v);
    };
    for (const std::int32_t v : vertices_.of(t)) take(v);
    for (const std::int32_t v : arrivals_[t]) take(v);
    for (const std::int32_t v : taken) slot_[v] = -1;
    return taken;
  }

  void refine(Node t, std::vector<std::int32_t>& separator) {
    SeparatorRefinement refinement(graph_, tree_, t);
    refinement.refine(separator, largest_side(t), options_.passes);
    for (const std::int32_t v : refinement.moved()) announce(t, v);
  }

  /// Tells a node below t that a vertex may have come to it.
  void announce(Node t, std::int32_t v) {
    if (graph_.label[v] != t) arrivals_[graph_.label[v]].push_back(v);
  }

  [[nodiscard]] std::int64_t largest_side(Node t) const {
    return tree_.weight(t) * 3 / 5;
  }

  [[nodiscard]] bool should_split(Node t, const std::vector<std::int32_t>& vertices) const {
    return tree_.may_split(t) && tree_.weight(t) > options_.leaf_size &&
           (finest_ || std::ssize(vertices) >= options_.split_vertices);
  }

  /// Splits a leaf by the lightest of several separators; false if there is no good one.
  bool split(Node t, const std::vector<std::int32_t>& vertices) {
    tree_.set_split(t, true);
    std::vector<std::uint8_t> best_sides;
    std::pair<std::int64_t, std::int64_t> best_cost;
    std::uint64_t random = t;
    // Large parts are few, and their separators matter most.
    const int trials = SeparatorTree::depth(t) < 6 ? 3 * options_.trials : options_.trials;
    for (int trial = 0; trial < trials; ++trial) {
      random = random * 6364136223846793005 + 1442695040888963407;
      grow_separator(t, vertices, (random >> 33) % vertices.size());
      const auto cost = cost_of_separator(t);
      if (!best_sides.empty() && cost >= best_cost) continue;
      best_cost = cost;
      best_sides.clear();
      for (const std::int32_t v : vertices) {
        best_sides.push_back(static_cast<std::uint8_t>(SeparatorTree::side_of(graph_.label[v], t)));
      }
    }
    set_sides(t, vertices, best_sides);
    if (is_good_separator(t)) {
      for (const std::int32_t v : vertices) announce(t, v);
      return true;
    }
    tree_.set_split(t, false);
    tree_.set_sides(t, 0, 0);
    for (const std::int32_t v : vertices) graph_.set_label(v, t);
    return false;
  }

  void grow_separator(Node t, const std::vector<std::int32_t>& vertices, std::size_t seed) {
    for (const std::int32_t v : vertices) graph_.set_label(v, SeparatorTree::child(t, 1));
    tree_.set_sides(t, 0, tree_.weight(t));
    std::vector<std::int32_t> separator;
    SeparatorRefinement refinement(graph_, tree_, t);
    refinement.grow(vertices, seed, separator);
    refinement.refine(separator, largest_side(t), options_.passes);
  }

  [[nodiscard]] std::pair<std::int64_t, std::int64_t> cost_of_separator(Node t) const {
    const std::int64_t left = tree_.weight(SeparatorTree::child(t, 0));
    const std::int64_t right = tree_.weight(SeparatorTree::child(t, 1));
    const std::int64_t excess = std::max<std::int64_t>(0, std::max(left, right) - largest_side(t));
    return {tree_.separator_weight(t) + excess, std::abs(left - right)};
  }

  /// A separator has to leave something on both sides, and to be lighter than half of the part.
  [[nodiscard]] bool is_good_separator(Node t) const {
    return tree_.weight(SeparatorTree::child(t, 0)) > 0 && tree_.weight(SeparatorTree::child(t, 1)) > 0 &&
           2 * tree_.separator_weight(t) < tree_.weight(t);
  }

  void set_sides(Node t, const std::vector<std::int32_t>& vertices, const std::vector<std::uint8_t>& sides) {
    std::int64_t weight[3] = {0, 0, 0};
    for (std::size_t k = 0; k < vertices.size(); ++k) {
      const int side = sides[k];
      graph_.set_label(vertices[k], side == SeparatorTree::separator ? t : SeparatorTree::child(t, side));
      weight[side] += graph_.graph.weight(vertices[k]);
    }
    tree_.set_sides(t, weight[0], weight[1]);
  }

  std::vector<std::int32_t> slot_;
  LabelledGraph graph_;
  SeparatorTree& tree_;
  const DissectionOptions& options_;
  bool finest_;
  VerticesByLabel vertices_;                         // when the level begins
  std::vector<std::vector<std::int32_t>> arrivals_;  // of each node, from those above it
  FirstException exception_;
};

/// The tree of separators of a graph, and the node of every vertex.
class Dissection {
 public:
  Dissection(const WeightedGraph& graph, const DissectionOptions& options)
      : graph_(graph), options_(options), tree_(depth_of_tree(graph, options), total_weight(graph)) {
    coarsen();
    uncoarsen();
  }

  [[nodiscard]] const std::vector<Node>& label() const { return label_; }
  [[nodiscard]] const SeparatorTree& tree() const { return tree_; }

 private:
  static std::int64_t total_weight(const WeightedGraph& graph) {
    return graph.vertex_weights.empty()
               ? graph.size()
               : std::accumulate(graph.vertex_weights.begin(), graph.vertex_weights.end(), std::int64_t{0});
  }

  /// Levels for parts of the leaves' size, and some more for parts of different sizes.
  static int depth_of_tree(const WeightedGraph& graph, const DissectionOptions& options) {
    const auto parts =
        static_cast<std::uint64_t>(total_weight(graph) / std::max<std::int64_t>(1, options.leaf_size));
    return std::min(22, static_cast<int>(std::bit_width(parts)) + 3);
  }

  void coarsen() {
    const std::int64_t coarsest = 2 * options_.split_vertices;
    // Clusters heavier than this would be too few to choose a separator from.
    const std::int64_t largest_weight = std::max<std::int64_t>(1, 3 * total_weight(graph_) / (2 * coarsest));
    for (WeightedGraph finer = graph_; finer.size() > coarsest;) {
      CoarseGraph coarse = coarsened(finer, largest_weight, options_.threads);
      if (10 * coarse.view().size() > 9 * finer.size()) break;
      levels_.push_back(std::move(coarse));
      finer = levels_.back().view();
    }
  }

  void uncoarsen() {
    label_.assign(static_cast<std::size_t>(levels_.empty() ? graph_.size() : levels_.back().view().size()),
                  SeparatorTree::root);
    while (!levels_.empty()) {
      Level(levels_.back().view(), label_, tree_, options_, false).run();
      const std::vector<std::int32_t>& cluster_of = levels_.back().cluster_of;
      std::vector<Node> finer(cluster_of.size());
      const auto n = static_cast<std::int64_t>(cluster_of.size());
#pragma omp parallel for num_threads(options_.threads) if (options_.threads > 1 && n > 20000)
      for (std::int64_t v = 0; v < n; ++v) finer[v] = label_[cluster_of[v]];
      label_ = std::move(finer);
      levels_.pop_back();
    }
    Level(graph_, label_, tree_, options_, true).run();
  }

  WeightedGraph graph_;
  const DissectionOptions& options_;
  SeparatorTree tree_;
  std::vector<CoarseGraph> levels_;
  std::vector<Node> label_;
};

/// The nodes of a tree that hold vertices, children before their parents.
void list_nodes(const SeparatorTree& tree, Node t, std::vector<Node>& nodes) {
  if (tree.is_split(t)) {
    list_nodes(tree, SeparatorTree::child(t, 0), nodes);
    list_nodes(tree, SeparatorTree::child(t, 1), nodes);
  }
  nodes.push_back(t);
}

std::vector<std::int32_t> ordering_of_tree(const Pattern& a, const SeparatorTree& tree,
                                           std::span<const Node> label, int threads) {
  VerticesByLabel vertices(label, tree.nodes());
  std::vector<Node> nodes;
  list_nodes(tree, SeparatorTree::root, nodes);
  std::vector<std::int32_t> position(label.size());
  const std::int64_t count = std::ssize(nodes);
  FirstException exception;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1)
  for (std::int64_t k = 0; k < count; ++k) {
    if (tree.is_split(nodes[k])) continue;
    exception.catch_from([&] { order_leaf(a, label, vertices.of(nodes[k]), position); });
  }
  exception.rethrow();
  std::vector<std::int32_t> order;
  order.reserve(label.size());
  for (const Node node : nodes) {
    const auto part = vertices.of(node);
    order.insert(order.end(), part.begin(), part.end());
  }
  return order;
}

std::vector<std::int32_t> dissect(const Pattern& a, const DissectionOptions& options) {
  const RowGroups groups = indistinguishable_rows(a);
  // Groups save little where most rows are alone.
  if (100 * groups.size() > 85 * a.n) {
    const Dissection dissection({a, {}, {}}, options);
    return ordering_of_tree(a, dissection.tree(), dissection.label(), options.threads);
  }
  const PatternStorage compressed = compressed_pattern(a, groups);
  std::vector<std::int32_t> weights;
  for (std::int64_t g = 0; g < groups.size(); ++g) weights.push_back(groups.begin[g + 1] - groups.begin[g]);
  const Dissection dissection({compressed.view(), weights, {}}, options);
  std::vector<Node> label(static_cast<std::size_t>(a.n));
  for (std::int64_t g = 0; g < groups.size(); ++g) {
    for (const std::int32_t row : groups.of(g)) label[row] = dissection.label()[g];
  }
  return ordering_of_tree(a, dissection.tree(), label, options.threads);
}

}  // namespace

std::vector<std::int32_t> nested_dissection_ordering(const Pattern& a, const DissectionOptions& options) {
  return with_dense_rows_last(a, [&](const Pattern& sparse) { return dissect(sparse, options); });
}

}  // namespace echelon::sparse_direct

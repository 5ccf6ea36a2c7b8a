// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/dissection/nested_dissection.hpp"

#include "sparse_direct/ordering/dissection/coarsening.hpp"
#include "sparse_direct/ordering/dissection/leaf_ordering.hpp"
#include "sparse_direct/ordering/dissection/separator_refinement.hpp"
#include "sparse_direct/ordering/dissection/separator_tree.hpp"
#include "sparse_direct/ordering/dissection/weighted_graph.hpp"
#include "sparse_direct/pattern/analysis_cancelled.hpp"
#include "sparse_direct/pattern/chunks.hpp"
#include "sparse_direct/pattern/dense_rows.hpp"
#include "sparse_direct/pattern/row_groups.hpp"
#include "support/first_exception.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
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
  template <class LabelOf>
  VerticesByLabel(std::int64_t n, std::size_t nodes, int threads, const LabelOf& label_of)
      : begin_(nodes + 1, 0), vertices_(static_cast<std::size_t>(n)) {
    const std::int64_t parts = n < 20'000 ? 1 : threads;
    const auto part_begin = [&](std::int64_t part) { return static_cast<std::int32_t>(n * part / parts); };
    std::vector<std::vector<std::int32_t>> next(static_cast<std::size_t>(parts));  // place by part and label
    for_each_task(parts, threads, [&](std::int64_t part) {
      next[part].assign(nodes, 0);
      for (std::int32_t v = part_begin(part); v < part_begin(part + 1); ++v) ++next[part][label_of(v)];
    });
    std::int32_t place = 0;
    for (std::size_t node = 0; node < nodes; ++node) {
      begin_[node] = place;
      for (auto& places : next) place += std::exchange(places[node], place);
    }
    begin_[nodes] = place;
    for_each_task(parts, threads, [&](std::int64_t part) {
      for (std::int32_t v = part_begin(part); v < part_begin(part + 1); ++v)
        vertices_[next[part][label_of(v)]++] = v;
    });
  }
  [[nodiscard]] std::span<std::int32_t> of(Node node) {
    return std::span(vertices_).subspan(static_cast<std::size_t>(begin_[node]),
                                        static_cast<std::size_t>(begin_[node + 1] - begin_[node]));
  }

 private:
  std::vector<std::int32_t> begin_;
  std::vector<std::int32_t> vertices_;
};

/// One level of the coarsening hierarchy: refines the separators of the tree from the root to the leaves, and
/// splits leaves that have enough vertices.
class DissectionLevel {
 public:
  DissectionLevel(const LabelledGraph& graph, SeparatorTree& tree, const DissectionOptions& options,
                  bool finest)
      : graph_(graph),
        tree_(tree),
        options_(options),
        finest_(finest),
        vertices_(graph.graph.size(), tree.nodes(), options.threads,
                  [&](std::int32_t v) { return graph.vertices[v].label; }),
        arrivals_(tree.nodes()) {}

  void run() {
#pragma omp parallel num_threads(options_.threads) if (options_.threads > 1)
#pragma omp single
    exception_.catch_from([&] { visit(SeparatorTree::root); });
    exception_.rethrow();
  }

 private:
  void visit(Node t) {
    test_for_stop(options_.cancel);
    std::vector<std::int32_t> vertices = take_vertices(t);
    if (tree_.is_split(t)) {
      refine(t, vertices);
    } else if (!should_split(t, vertices) || !split(t, vertices)) {
      return;
    }
    vertices = {};
    // Tasks for small parts would cost more than they save.
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
      if (!graph_.has_label(v, t) || graph_.vertices[v].slot >= 0) return;
      graph_.vertices[v].slot = 0;
      taken.push_back(v);
    };
    for (const std::int32_t v : vertices_.of(t)) take(v);
    for (const std::int32_t v : arrivals_[t]) take(v);
    for (const std::int32_t v : taken) graph_.vertices[v].slot = -1;
    return taken;
  }

  void refine(Node t, std::vector<std::int32_t>& separator) {
    SeparatorRefinement refinement(graph_, tree_, t);
    const bool is_between = !finest_ && graph_.graph.size() > options_.small_level;
    refinement.refine(separator, largest_side(t), is_between ? options_.passes_between : options_.passes);
    for (const std::int32_t v : refinement.moved()) announce(t, v);
  }

  /// Informs a node below t that a vertex may have moved to it.
  void announce(Node t, std::int32_t v) {
    const Node node = graph_.vertices[v].label;
    if (node != t) arrivals_[node].push_back(v);
  }

  [[nodiscard]] std::int64_t largest_side(Node t) const {
    return tree_.weight(t) * 3 / 5;
  }

  [[nodiscard]] bool should_split(Node t, const std::vector<std::int32_t>& vertices) const {
    return tree_.may_split(t) && tree_.weight(t) > options_.leaf_size &&
           (finest_ || std::ssize(vertices) >= options_.split_vertices);
  }

  /// Splits a leaf by the lightest of several separators; false if none of them is good.
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
        best_sides.push_back(static_cast<std::uint8_t>(SeparatorTree::side_of(graph_.vertices[v].label, t)));
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

  /// True if a separator leaves vertices on both sides, and is lighter than half of the part.
  [[nodiscard]] bool is_good_separator(Node t) const {
    return tree_.weight(SeparatorTree::child(t, 0)) > 0 && tree_.weight(SeparatorTree::child(t, 1)) > 0 &&
           2 * tree_.separator_weight(t) < tree_.weight(t);
  }

  void set_sides(Node t, const std::vector<std::int32_t>& vertices, const std::vector<std::uint8_t>& sides) {
    std::int64_t weight[3] = {0, 0, 0};
    for (std::size_t k = 0; k < vertices.size(); ++k) {
      const int side = sides[k];
      graph_.set_label(vertices[k], side == SeparatorTree::separator ? t : SeparatorTree::child(t, side));
      weight[side] += graph_.vertices[vertices[k]].weight;
    }
    tree_.set_sides(t, weight[0], weight[1]);
  }

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

  /// Depth of a tree whose leaves have the wanted size, with a margin for parts of different sizes.
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
      test_for_stop(options_.cancel);
      CoarseGraph coarse = coarsened(finer, largest_weight, options_.threads);
      if (10 * coarse.view().size() > 9 * finer.size()) break;
      levels_.push_back(std::move(coarse));
      finer = levels_.back().view();
    }
  }

  void uncoarsen() {
    std::unique_ptr<LabelledVertex[]> vertices =
        labelled_vertices([](std::int64_t) { return SeparatorTree::root; });
    while (!levels_.empty()) {
      const LabelledGraph graph = labelled_graph(vertices);
      DissectionLevel(graph, tree_, options_, false).run();
      const std::vector<std::int32_t> cluster_of = std::move(levels_.back().cluster_of);
      levels_.pop_back();
      vertices = labelled_vertices([&](std::int64_t v) { return graph.vertices[cluster_of[v]].label; });
    }
    const LabelledGraph graph = labelled_graph(vertices);
    DissectionLevel(graph, tree_, options_, true).run();
    label_.resize(static_cast<std::size_t>(graph_.size()));
    for_each_chunk(graph_.size(), options_.threads, [&](std::int64_t, std::int64_t first, std::int64_t end) {
      for (std::int64_t v = first; v < end; ++v) label_[v] = vertices[v].label;
    });
  }

  /// The graph of the coarsest level that is left.
  [[nodiscard]] WeightedGraph coarsest() const { return levels_.empty() ? graph_ : levels_.back().view(); }

  [[nodiscard]] LabelledGraph labelled_graph(const std::unique_ptr<LabelledVertex[]>& vertices) const {
    return {coarsest(), {vertices.get(), static_cast<std::size_t>(coarsest().size())}};
  }

  template <class LabelOf>
  std::unique_ptr<LabelledVertex[]> labelled_vertices(const LabelOf& label_of) const {
    const WeightedGraph graph = coarsest();
    auto vertices = std::make_unique_for_overwrite<LabelledVertex[]>(static_cast<std::size_t>(graph.size()));
    for_each_chunk(graph.size(), options_.threads, [&](std::int64_t, std::int64_t first, std::int64_t end) {
      for (std::int64_t v = first; v < end; ++v) vertices[v] = {label_of(v), graph.weight(v), -1};
    });
    return vertices;
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
                                           std::span<const Node> label, const DissectionOptions& options) {
  const int threads = options.threads;
  VerticesByLabel vertices(a.n, tree.nodes(), threads, [&](std::int32_t v) { return label[v]; });
  std::vector<Node> nodes;
  list_nodes(tree, SeparatorTree::root, nodes);
  std::vector<std::int32_t> position(label.size());
  for_each_task(std::ssize(nodes), threads, [&](std::int64_t k) {
    test_for_stop(options.cancel);
    if (!tree.is_split(nodes[k])) order_leaf(a, label, vertices.of(nodes[k]), position);
  });
  std::vector<std::int32_t> order;
  order.reserve(label.size());
  for (const Node node : nodes) {
    const auto part = vertices.of(node);
    order.insert(order.end(), part.begin(), part.end());
  }
  return order;
}

/// True if so many groups consist of a single row that a graph of groups would save little.
bool are_mostly_alone(std::span<const std::int32_t> first_row) {
  std::int64_t groups = 0;
  for (std::int64_t row = 0; row < std::ssize(first_row); ++row) groups += first_row[row] == row ? 1 : 0;
  return 100 * groups > 85 * std::ssize(first_row);
}

std::vector<std::int32_t> dissect(const Pattern& a, const DissectionOptions& options) {
  const std::vector<std::int32_t> first_row = first_equal_rows(a, options.threads);
  if (are_mostly_alone(first_row)) {
    const Dissection dissection({a, {}, {}}, options);
    return ordering_of_tree(a, dissection.tree(), dissection.label(), options);
  }
  const RowGroups groups = groups_by_first_row(first_row);
  const PatternStorage compressed = compressed_pattern(a, groups);
  std::vector<std::int32_t> weights;
  for (std::int64_t g = 0; g < groups.size(); ++g) weights.push_back(groups.begin[g + 1] - groups.begin[g]);
  const Dissection dissection({compressed.view(), weights, {}}, options);
  std::vector<Node> label(static_cast<std::size_t>(a.n));
  for (std::int64_t g = 0; g < groups.size(); ++g) {
    for (const std::int32_t row : groups.of(g)) label[row] = dissection.label()[g];
  }
  return ordering_of_tree(a, dissection.tree(), label, options);
}

}  // namespace

std::vector<std::int32_t> nested_dissection_ordering(const Pattern& a, const DissectionOptions& options) {
  return with_dense_rows_last(a, [&](const Pattern& sparse) { return dissect(sparse, options); });
}

}  // namespace echelon::sparse_direct

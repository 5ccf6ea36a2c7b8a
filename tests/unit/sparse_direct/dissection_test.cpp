// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/dissection/coarsening.hpp"
#include "sparse_direct/ordering/dissection/gain_queue.hpp"
#include "sparse_direct/ordering/dissection/nested_dissection.hpp"
#include "sparse_direct/ordering/dissection/separator_refinement.hpp"
#include "sparse_direct/ordering/dissection/separator_tree.hpp"
#include "sparse_direct/pattern/analysis_cancelled.hpp"
#include "sparse_direct/symbolic/elimination_tree.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"
#include "support/patterns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace echelon::sparse_direct {
namespace {

/// Points of a cube, each connected to its six neighbours.
PatternStorage cube_pattern(std::int32_t side) {
  std::vector<Edge> edges;
  for (std::int32_t z = 0; z < side; ++z) {
    for (std::int32_t y = 0; y < side; ++y) {
      for (std::int32_t x = 0; x < side; ++x) {
        const std::int32_t i = (z * side + y) * side + x;
        if (x + 1 < side) edges.emplace_back(i, i + 1);
        if (y + 1 < side) edges.emplace_back(i, i + side);
        if (z + 1 < side) edges.emplace_back(i, i + side * side);
      }
    }
  }
  return pattern_of_edges(side * side * side, std::move(edges));
}

/// A tree in which new vertices prefer vertices of high degree, with some more edges.
PatternStorage scale_free_pattern(std::int32_t n, std::mt19937& random) {
  std::vector<std::int32_t> ends{0};
  std::vector<Edge> edges;
  for (std::int32_t i = 1; i < n; ++i) {
    for (int k = 0; k < 1 + i % 2; ++k) {
      const std::int32_t j = ends[random() % ends.size()];
      edges.emplace_back(i, j);
      ends.push_back(i);
      ends.push_back(j);
    }
  }
  return pattern_of_edges(n, std::move(edges));
}

std::vector<NamedPattern> dissected_patterns() {
  std::vector<NamedPattern> patterns = small_patterns();
  std::mt19937 random(21);
  patterns.push_back({"large grid", grid_pattern(120, 90)});
  patterns.push_back({"cube", cube_pattern(17)});
  patterns.push_back({"long path", path_pattern(5000)});
  patterns.push_back({"large star", star_pattern(5000, 1234)});
  patterns.push_back({"no edges", pattern_of_edges(3000, {})});
  patterns.push_back({"sparse random", random_pattern(4000, 3000, random)});
  patterns.push_back({"random", random_pattern(2000, 8000, random)});
  patterns.push_back({"scale-free", scale_free_pattern(6000, random)});
  std::vector<Edge> clique;
  for (std::int32_t i = 0; i < 150; ++i) {
    for (std::int32_t j = 0; j < i; ++j) clique.emplace_back(i, j);
  }
  patterns.push_back({"clique", pattern_of_edges(150, clique)});
  return patterns;
}

TEST(NestedDissection, IsAPermutation) {
  for (const auto& [name, pattern] : dissected_patterns()) {
    for (const std::int64_t leaf_size : {1, 10, 800}) {
      const auto order = nested_dissection_ordering(pattern.view(), {.leaf_size = leaf_size});
      EXPECT_TRUE(is_permutation(order, pattern.view().n)) << name << ' ' << leaf_size;
    }
  }
}

TEST(NestedDissection, AnyNumberOfThreads_SameResult) {
  for (const auto& [name, pattern] : dissected_patterns()) {
    if (pattern.view().n < 1000) continue;
    const auto expected = nested_dissection_ordering(pattern.view(), {.leaf_size = 60});
    for (const int threads : {2, 5}) {
      EXPECT_EQ(nested_dissection_ordering(pattern.view(), {.leaf_size = 60, .threads = threads}), expected)
          << name << ' ' << threads;
    }
  }
}

TEST(NestedDissection, LargeGraph_IsTheSameForAnyNumberOfThreads) {
  const PatternStorage grid = grid_pattern(300, 200);
  EXPECT_EQ(nested_dissection_ordering(grid.view(), {.threads = 4}), nested_dissection_ordering(grid.view()));
}

TEST(NestedDissection, Grids_FillNearBound) {
  // The leading terms for square grids of side n: 31/4 n^2 log2 n entries, 829/84 n^3 multiplications
  // (George).
  constexpr std::int32_t side = 120;
  const PatternStorage grid = grid_pattern(side, side);
  const EliminationForest forest = elimination_forest(grid.view(), nested_dissection_ordering(grid.view()));
  EXPECT_LT(static_cast<double>(forest.factor_entries), 7.75 * side * side * std::log2(side));
  EXPECT_LT(forest.flops, 2 * 9.87 * side * side * side);
}

TEST(NestedDissection, GroupsOfRows_Separators) {
  // Three unknowns for each point of a grid: three times the counts in each direction.
  const PatternStorage grid = grid_pattern(50, 40);
  std::vector<Edge> edges;
  for (std::int32_t i = 0; i < 2000; ++i) {
    for (const std::int32_t j : grid.view().row(i)) {
      for (std::int32_t x = 0; x < 3; ++x) {
        for (std::int32_t y = 0; y < 3; ++y) edges.emplace_back(3 * i + x, 3 * j + y);
      }
    }
  }
  const PatternStorage pattern = pattern_of_edges(6000, edges);
  const auto order = nested_dissection_ordering(pattern.view());
  ASSERT_TRUE(is_permutation(order, 6000));
  const auto entries = elimination_forest(pattern.view(), order).factor_entries;
  const auto scalar = elimination_forest(grid.view(), nested_dissection_ordering(grid.view())).factor_entries;
  EXPECT_LT(static_cast<double>(entries), 1.3 * 9 * static_cast<double>(scalar));
}

double flops_of(const PatternStorage& pattern, Ordering ordering) {
  return analyze_symmetric(pattern.view(), {.ordering = {.ordering = ordering, .threads = 2}}).flops;
}

/// A ring of n vertices, each connected to the `reach` next ones.
PatternStorage ring_pattern(std::int32_t n, std::int32_t reach) {
  std::vector<Edge> edges;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t k = 1; k <= reach; ++k) edges.emplace_back(i, (i + k) % n);
  }
  return pattern_of_edges(n, std::move(edges));
}

/// Where a factorisation by minimum degree has fewer flops, a better ordering is not looked for.
double negligible_flops(const PatternStorage& pattern) {
  const Pattern a = pattern.view();
  return 20'000.0 * static_cast<double>(a.n) + 6'000.0 * static_cast<double>(a.entries());
}

TEST(AutomaticOrdering, TakesTheFewestFlops) {
  std::vector<NamedPattern> patterns = dissected_patterns();
  patterns.push_back({"large ring", ring_pattern(60'000, 2)});
  patterns.push_back({"large mesh", grid_pattern(300, 200)});
  for (const auto& [name, pattern] : patterns) {
    const double least = std::min(flops_of(pattern, Ordering::amd), flops_of(pattern, Ordering::dissection));
    EXPECT_LE(flops_of(pattern, Ordering::automatic), std::max(least, negligible_flops(pattern))) << name;
  }
}

TEST(AutomaticOrdering, WorthItsTime_Dissection) {
  const PatternStorage grid = cube_pattern(30);
  ASSERT_GT(flops_of(grid, Ordering::amd), negligible_flops(grid));
  EXPECT_EQ(analyze_symmetric(grid.view()).ordering, "dissection");
  const PatternStorage mesh = grid_pattern(300, 200);
  ASSERT_LT(flops_of(mesh, Ordering::amd), negligible_flops(mesh));
  EXPECT_EQ(analyze_symmetric(mesh.view()).ordering, "amd");
  EXPECT_EQ(analyze_symmetric(mesh.view(), {.ordering = {.for_gpu = true}}).ordering, "dissection");
}

TEST(AutomaticOrdering, LongFactorization_Metis) {
  std::mt19937 random(3);
  const PatternStorage pattern = random_pattern(3000, 12'000, random);
  const double metis = flops_of(pattern, Ordering::metis);
  ASSERT_GT(metis, 300'000.0 * 3000);
  EXPECT_LE(flops_of(pattern, Ordering::automatic), metis);
  const SymbolicFactor without = analyze_symmetric(pattern.view(), {.ordering = {.for_gpu = true}});
  EXPECT_NE(without.ordering, "metis");
}

TEST(NestedDissection, RequestToStop_NoOrdering) {
  const PatternStorage grid = grid_pattern(120, 90);
  const std::atomic<bool> stop = true;
  for (const int threads : {1, 3}) {
    EXPECT_THROW((void)nested_dissection_ordering(grid.view(), {.threads = threads, .cancel = &stop}),
                 AnalysisCancelled);
    for (const Ordering ordering :
         {Ordering::automatic, Ordering::amd, Ordering::dissection, Ordering::metis})
      EXPECT_THROW(
          (void)analyze_symmetric(grid.view(),
                                  {.ordering = {.ordering = ordering, .threads = threads, .cancel = &stop}}),
          AnalysisCancelled)
          << to_string(ordering);
  }
}

TEST(NestedDissection, ManyComponents) {
  // 20,000 triangles: no fill whatever separates them.
  std::vector<Edge> edges;
  for (std::int32_t i = 0; i < 60'000; i += 3) {
    edges.emplace_back(i, i + 1);
    edges.emplace_back(i, i + 2);
    edges.emplace_back(i + 1, i + 2);
  }
  const PatternStorage pattern = pattern_of_edges(60'000, edges);
  const auto order = nested_dissection_ordering(pattern.view(), {.threads = 2});
  ASSERT_TRUE(is_permutation(order, 60'000));
  EXPECT_EQ(elimination_forest(pattern.view(), order).factor_entries, 120'000);
}

TEST(SeparatorTree, TellsSidesApart) {
  using Tree = SeparatorTree;
  EXPECT_EQ(Tree::side_of(1, 1), Tree::separator);
  EXPECT_EQ(Tree::side_of(2, 1), 0);
  EXPECT_EQ(Tree::side_of(3, 1), 1);
  EXPECT_EQ(Tree::side_of(13, 1), 1);  // 13 -> 6 -> 3 -> 1
  EXPECT_EQ(Tree::side_of(13, 3), 0);
  EXPECT_EQ(Tree::side_of(13, 6), 1);
  EXPECT_EQ(Tree::side_of(13, 2), Tree::outside);
  EXPECT_EQ(Tree::side_of(3, 6), Tree::outside);
}

TEST(GainQueue, TakesTheLargestGain) {
  GainQueue queue;
  queue.reset(1);
  EXPECT_EQ(queue.best_bucket(), -1);
  const std::vector<std::int64_t> gains{-3, 1, 0, -500, 1, -2};
  for (std::int32_t k = 0; k < std::ssize(gains); ++k) queue.push(gains[k], k);
  std::vector<std::int32_t> order;
  for (int bucket = queue.best_bucket(); bucket >= 0; bucket = queue.best_bucket()) {
    order.push_back(queue.top(bucket));
    queue.pop(bucket);
  }
  EXPECT_EQ(order, (std::vector<std::int32_t>{4, 1, 2, 5, 0, 3}));
}

TEST(Coarsening, Weights_Edges_AreKept) {
  for (const auto& [name, pattern] : dissected_patterns()) {
    SCOPED_TRACE(name);
    const Pattern a = pattern.view();
    const CoarseGraph first = coarsened({a, {}, {}}, 3, 1);
    const CoarseGraph coarse = coarsened(first.view(), 3, 2);
    std::vector<std::int32_t> cluster_of;
    for (std::int64_t v = 0; v < a.n; ++v) cluster_of.push_back(coarse.cluster_of[first.cluster_of[v]]);
    std::vector<std::int32_t> weight(static_cast<std::size_t>(coarse.view().size()), 0);
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> edges;
    for (std::int32_t v = 0; v < a.n; ++v) {
      ++weight[cluster_of[v]];
      for (const std::int32_t u : a.row(v)) {
        if (cluster_of[u] != cluster_of[v]) ++edges[{cluster_of[v], cluster_of[u]}];
      }
    }
    EXPECT_EQ(coarse.vertex_weights, weight);
    for (const std::int32_t w : weight) EXPECT_LE(w, 3);
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> found;
    for (std::int32_t v = 0; v < coarse.view().size(); ++v) {
      std::int64_t position = coarse.pattern.row_begin[v];
      for (const std::int32_t u : coarse.view().neighbours(v))
        found[{v, u}] += coarse.edge_weights[position++];
    }
    EXPECT_EQ(found, edges);
    EXPECT_EQ(static_cast<std::int64_t>(found.size()), coarse.view().pattern.entries()) << "duplicate edges";
  }
}

TEST(Coarsening, AnyNumberOfThreads_SameResult) {
  const PatternStorage grid = grid_pattern(300, 200);
  const CoarseGraph one = coarsened({grid.view(), {}, {}}, 100, 1);
  const CoarseGraph four = coarsened({grid.view(), {}, {}}, 100, 4);
  EXPECT_EQ(one.cluster_of, four.cluster_of);
  EXPECT_EQ(one.pattern.row_begin, four.pattern.row_begin);
  EXPECT_EQ(one.pattern.columns, four.pattern.columns);
  EXPECT_EQ(one.edge_weights, four.edge_weights);
}

TEST(Coarsening, Star_EndsArePaired) {
  const PatternStorage star = star_pattern(1001, 0);
  EXPECT_LE(coarsened({star.view(), {}, {}}, 100, 1).view().size(), 502);
}

/// No edge connects the two sides, and the tree knows the weights.
void expect_separator(const WeightedGraph& graph, const std::vector<LabelledVertex>& labelled,
                      const SeparatorTree& tree, SeparatorTree::Node t) {
  std::int64_t weight[4] = {0, 0, 0, 0};
  for (std::int32_t v = 0; v < graph.size(); ++v) {
    const int side = SeparatorTree::side_of(labelled[v].label, t);
    weight[side] += graph.weight(v);
    for (const std::int32_t u : graph.neighbours(v)) {
      EXPECT_FALSE(side == 0 && SeparatorTree::side_of(labelled[u].label, t) == 1) << v << ' ' << u;
    }
  }
  EXPECT_EQ(tree.weight(SeparatorTree::child(t, 0)), weight[0]);
  EXPECT_EQ(tree.weight(SeparatorTree::child(t, 1)), weight[1]);
  EXPECT_EQ(tree.separator_weight(t), weight[2]);
}

TEST(SeparatorRefinement, TwoLevels_StaySeparators) {
  for (const auto& [name, pattern] : dissected_patterns()) {
    SCOPED_TRACE(name);
    const auto n = static_cast<std::int32_t>(pattern.view().n);
    if (n < 4) continue;
    const WeightedGraph graph{pattern.view(), {}, {}};
    std::vector<LabelledVertex> labelled(static_cast<std::size_t>(n), {3, 1, -1});
    SeparatorTree tree(3, n);
    const auto grow = [&](SeparatorTree::Node t) {
      std::vector<std::int32_t> vertices;
      for (std::int32_t v = 0; v < n; ++v) {
        if (labelled[v].label == t || (t == 1 && labelled[v].label == 3)) vertices.push_back(v);
      }
      for (const std::int32_t v : vertices) labelled[v].label = SeparatorTree::child(t, 1);
      tree.set_split(t, true);
      tree.set_sides(t, 0, std::ssize(vertices));
      std::vector<std::int32_t> separator;
      if (vertices.empty()) return;
      SeparatorRefinement({graph, labelled}, tree, t).grow(vertices, vertices.size() / 2, separator);
      expect_separator(graph, labelled, tree, t);
    };
    grow(1);
    grow(2);
    grow(3);
    std::vector<std::int32_t> separator;
    for (std::int32_t v = 0; v < n; ++v) {
      if (labelled[v].label == 1) separator.push_back(v);
    }
    const std::int64_t before = tree.separator_weight(1);
    SeparatorRefinement refinement({graph, labelled}, tree, 1);
    refinement.refine(separator, 3 * n / 5 + 1, 10);
    for (const SeparatorTree::Node t : {1U, 2U, 3U}) expect_separator(graph, labelled, tree, t);
    EXPECT_LE(tree.separator_weight(1), std::max(before, std::int64_t{1}));
    EXPECT_EQ(std::ssize(separator), tree.separator_weight(1));
    for (const LabelledVertex& vertex : labelled) EXPECT_EQ(vertex.slot, -1);
  }
}

}  // namespace
}  // namespace echelon::sparse_direct

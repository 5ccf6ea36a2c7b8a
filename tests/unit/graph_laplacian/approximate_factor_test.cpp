// SPDX-License-Identifier: BSD-3-Clause
/// Parts of approximate-cholesky: sampled cliques, elimination trees, factors, products with columns, and the
/// elimination of vertices of low degree.
#include "backend/target.hpp"
#include "graph_laplacian/approximate_cholesky/factor.hpp"
#include "graph_laplacian/approximate_cholesky/low_degree.hpp"
#include "graph_laplacian/approximate_cholesky/star.hpp"
#include "graph_laplacian/approximate_cholesky/substitution.hpp"
#include "linalg/components.hpp"
#include "linalg/spmv/row_products.hpp"
#include "support/graph_laplacian/lamg_graphs.hpp"
#include "support/graph_laplacian/vectors.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace echelon {
namespace {

using graph_laplacian::ApproximateFactor;
using graph_laplacian::dissect;
using graph_laplacian::Neighbour;
using test::make_graph;
using test::mean;
using test::product;
using test::random_vector;

TEST(SampledClique, MeanOverSeeds_IsExactClique) {
  const std::vector<double> weights = {0.1, 0.5, 0.5, 2, 7, 40};
  double total = 0;
  std::vector<Neighbour> star;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    total += weights[i];
    star.push_back({weights[i], static_cast<std::int32_t>(i), 1});
  }
  for (const int split : {1, 3}) {
    for (Neighbour& neighbour : star) neighbour.copies = split;
    graph_laplacian::sort_by_weight(star, split);
    constexpr int seeds = 40000;
    std::map<std::pair<std::size_t, std::size_t>, std::pair<double, double>> sums;
    std::vector<double> suffix;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      std::map<std::pair<std::size_t, std::size_t>, double> edges;
      int count = 0;
      graph_laplacian::sample_clique(star, seed, 17, split, suffix,
                                     [&](std::size_t i, std::size_t j, double weight) {
                                       ASSERT_LT(i, j);
                                       ASSERT_LT(j, star.size());
                                       edges[{i, j}] += weight;
                                       ++count;
                                     });
      ASSERT_EQ(count, 5 * split);
      for (const auto& [ends, weight] : edges) {
        sums[ends].first += weight;
        sums[ends].second += weight * weight;
      }
    }
    for (std::size_t i = 0; i < star.size(); ++i) {
      for (std::size_t j = i + 1; j < star.size(); ++j) {
        const auto [sum, squares] = sums[{i, j}];
        const double average = sum / seeds;
        const double deviation = std::sqrt(std::max(0.0, squares / seeds - average * average) / seeds);
        const double exact = star[i].weight * star[j].weight / total;
        EXPECT_NEAR(average, exact, 5 * deviation + 1e-12 * exact) << i << ' ' << j;
      }
    }
  }
}

TEST(SampledClique, LongStars_DrawHeavyNeighboursAsOften) {
  // Above 32 neighbours a bisection finds the drawn one: the last edge count tests its ends.
  std::vector<Neighbour> star;
  for (std::int32_t i = 0; i < 100; ++i) star.push_back({1.0 + i, i, 1});
  std::vector<double> suffix;
  std::vector<double> drawn(100, 0);
  constexpr int seeds = 20000;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    graph_laplacian::sample_clique(star, seed, 3, 1, suffix, [&](std::size_t i, std::size_t j, double) {
      if (i == 0) drawn[j] += 1;
    });
  }
  const double total = 100 * 101 / 2.0 - 1;
  for (std::size_t j = 1; j < 100; ++j) {
    const double p = (1.0 + static_cast<double>(j)) / total;
    EXPECT_NEAR(drawn[j] / seeds, p, 5 * std::sqrt(p / seeds)) << j;
  }
}

std::int64_t count_components(const Csr<double>& A) {
  Host backend{Device::serial()};
  return find_components(backend, A).count;
}

constexpr std::int64_t smallest_leaf = 500;

/// Graphs with a tree of several nodes and with a single one.
std::vector<Csr<double>> graphs_to_dissect() {
  std::vector<Csr<double>> graphs;
  graphs.push_back(make_graph("erdos-renyi", {{"n", 3000}, {"degree", 2.5}}));
  graphs.push_back(
      make_graph("grid-2d", {{"nx", 100}, {"ny", 90}, {"weights", "log-uniform"}, {"decades", 6}}));
  graphs.push_back(make_graph("grid-3d", {{"nx", 30}, {"ny", 31}, {"nz", 29}}));
  graphs.push_back(make_graph("chimera", {{"n", 20000}, {"seed", 3}}));
  graphs.push_back(make_graph("barabasi-albert", {{"n", 20000}, {"k", 2}}));
  return graphs;
}

template <class B>
ApproximateFactor<double> factored(B backend, const Csr<double>& A, double excess, std::uint64_t seed) {
  const std::vector<double> all(static_cast<std::size_t>(A.rows()), excess);
  return graph_laplacian::eliminate_by_degree<double>(backend, A, all.data(),
                                                      dissect(backend, A, smallest_leaf), {.seed = seed});
}

TEST(EliminationTree, EdgesAndFill_StayOnPathsToTheRoot) {
  Host serial{Device::serial()};
  Host threads{Device::openmp(3)};
  int dissected = 0;
  for (const Csr<double>& A : graphs_to_dissect()) {
    const graph_laplacian::EliminationTree tree = dissect(serial, A, smallest_leaf);
    EXPECT_EQ(tree.members, dissect(threads, A, smallest_leaf).members);
    EXPECT_EQ(tree.level_of, dissect(threads, A, smallest_leaf).level_of);
    dissected += tree.nodes() > 1 ? 1 : 0;
    ASSERT_EQ(tree.offsets.back(), A.rows());
    for (std::int32_t node = 0; node < tree.nodes(); ++node) {
      for (std::int64_t k = 0; k < tree.size(node); ++k) {
        const std::int32_t v =
            tree.members[static_cast<std::size_t>(tree.offsets[static_cast<std::size_t>(node)] + k)];
        ASSERT_EQ(tree.node_of(v), node);
        ASSERT_EQ(tree.rank[static_cast<std::size_t>(v)], k);
      }
    }
    for (std::int32_t v = 0; v < A.rows(); ++v) {
      for (std::int64_t k = A.row_offsets()[v]; k < A.row_offsets()[v + 1]; ++k) {
        const std::int32_t u = A.column_indices()[k];
        const int above =
            std::max(tree.level_of[static_cast<std::size_t>(u)], tree.level_of[static_cast<std::size_t>(v)]);
        ASSERT_EQ(tree.leaf_of[static_cast<std::size_t>(u)] >> above,
                  tree.leaf_of[static_cast<std::size_t>(v)] >> above);
      }
    }
  }
  EXPECT_EQ(dissected, 2);  // the grids
}

TEST(ApproximateFactor, EveryColumnButOnePerComponent_HasElements) {
  for (const Csr<double>& A : graphs_to_dissect()) {
    const ApproximateFactor<double> factor = factored(Host(Device::serial()), A, 0, 5);
    ASSERT_EQ(factor.vertices(), A.rows());
    std::vector<char> seen(static_cast<std::size_t>(A.rows()), 0);
    std::int64_t roots = 0;
    for (const graph_laplacian::FactorNode<double>& node : factor.nodes) {
      for (std::size_t k = 0; k < node.order.size(); ++k) {
        EXPECT_EQ(seen[static_cast<std::size_t>(node.order[k])]++, 0);
        const bool empty = node.offsets[k] == node.offsets[k + 1];
        EXPECT_EQ(empty, node.inverse_pivots[k] == 0);
        roots += empty ? 1 : 0;
        double sum = 0;
        for (std::int64_t e = node.offsets[k]; e < node.offsets[k + 1]; ++e) {
          const auto at = static_cast<std::size_t>(e);
          EXPECT_GT(node.rows[at], static_cast<std::int64_t>(k));
          EXPECT_LT(node.rows[at], node.block_size());
          sum += node.values[at];
        }
        if (!empty) {
          EXPECT_NEAR(sum, 1, 1e-12);
        }
      }
    }
    EXPECT_EQ(roots, count_components(A));
  }
}

/// Elements of all columns, in the order of the nodes.
std::vector<double> values_of(const ApproximateFactor<double>& factor) {
  std::vector<double> values;
  for (const auto& node : factor.nodes) values.insert(values.end(), node.values.begin(), node.values.end());
  return values;
}

TEST(ApproximateFactor, ThreadCounts_GiveTheSameBitsForASeed) {
  for (const Csr<double>& A : graphs_to_dissect()) {
    const ApproximateFactor<double> factor = factored(Host(Device::serial()), A, 1e-3, 5);
    for (const int threads : {1, 2, 5}) {
      const ApproximateFactor<double> other = factored(Host(Device::openmp(threads)), A, 1e-3, 5);
      EXPECT_EQ(values_of(factor), values_of(other)) << threads;
      for (std::size_t node = 0; node < factor.nodes.size(); ++node) {
        EXPECT_EQ(factor.nodes[node].order, other.nodes[node].order);
        EXPECT_EQ(factor.nodes[node].rows, other.nodes[node].rows);
        EXPECT_EQ(factor.nodes[node].parent_rows, other.nodes[node].parent_rows);
      }
    }
    EXPECT_NE(values_of(factor), values_of(factored(Host(Device::serial()), A, 1e-3, 6)));
  }
}

TEST(ApproximateFactor, ChainsAcrossNodes_FactoredExactly) {
  // No clique is sampled where every star has at most two neighbours: the factor is exact.
  for (const char* generator : {"path", "ring"}) {
    const Csr<double> A = make_graph(generator, {{"n", 20000}, {"weights", "log-uniform"}, {"decades", 1}});
    Host backend{Device::openmp(3)};
    const ApproximateFactor<double> factor = factored(backend, A, 0, 5);
    EXPECT_GT(factor.nodes.size(), 1U);
    const std::vector<double> wanted = random_vector(A.rows(), 3);
    const std::vector<double> b = product(A, wanted);
    std::vector<double> x(b.size());
    std::vector<double> blocks;
    graph_laplacian::apply_factor<1>(backend, factor, b.data(), x.data(), blocks);
    const double shift = mean(x) - mean(wanted);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i] - shift, wanted[i], 1e-6) << generator;
  }
}

/// y = A x for several columns, whose elements are small whole numbers: exact in any order.
void expect_exact_products(const Csr<double>& A, std::size_t columns) {
  const auto n = static_cast<std::size_t>(A.rows());
  std::vector<std::vector<double>> x(columns, std::vector<double>(n));
  std::vector<std::vector<double>> expected(columns, std::vector<double>(n, 0.0));
  std::vector<std::vector<double>> found(columns, std::vector<double>(n));
  std::vector<std::size_t> numbers;
  for (std::size_t c = 0; c < columns; ++c) {
    numbers.push_back(c);
    for (std::size_t i = 0; i < n; ++i) x[c][i] = static_cast<double>((columns * i + c) % 7) - 3;
    expected[c] = product(A, x[c]);
  }
  Host backend(Device::openmp(3));
  for_column_products(backend, A, std::span<const std::size_t>(numbers), [&](std::size_t c) {
    return VectorProduct{static_cast<const double*>(x[c].data()), PutElement<double>{found[c].data()}};
  });
  EXPECT_EQ(found, expected);
}

TEST(ColumnProducts, RowsOfAnyLength_AsByDefinition) {
  constexpr std::int32_t n = 200;
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t length = i < 50 ? i : i % 50 * 4;
    for (std::int32_t k = 0; k < length; ++k) {
      triplets.push_back({i, (i + k) % n, static_cast<double>((i + 3 * k) % 11 - 5)});
    }
  }
  const Csr<double> A = Csr<double>::from_triplets(n, n, triplets);
  expect_exact_products(A, 1);
  expect_exact_products(A, 8);
}

TEST(LowDegreeElimination, TriangleWithTails_SolvedExactly) {
  Host backend{Device::serial()};
  const Csr<double> A = Csr<double>::from_triplets(6, 6,
                                                   {{0, 0, 6.5},
                                                    {0, 1, -1},
                                                    {0, 2, -2},
                                                    {0, 3, -3},
                                                    {1, 0, -1},
                                                    {1, 1, 5},
                                                    {1, 2, -4},
                                                    {2, 0, -2},
                                                    {2, 1, -4},
                                                    {2, 2, 11},
                                                    {2, 5, -5},
                                                    {3, 0, -3},
                                                    {3, 3, 3.25},
                                                    {5, 2, -5},
                                                    {5, 5, 5},
                                                    {4, 4, 0}});
  const std::vector<double> excess = {0.5, 0, 0, 0.25, 0, 0};
  const graph_laplacian::LowDegreeElimination all =
      graph_laplacian::eliminate_low_degrees(backend, A, excess);
  EXPECT_TRUE(all.kept.empty());
  ASSERT_EQ(all.steps.size(), 6U);
  const std::vector<double> wanted = {1, -2, 3, 0.5, 0, 7};
  std::vector<double> x = product(A, wanted);
  for (const graph_laplacian::LowDegreeStep& step : all.steps) {
    for (const int side : {0, 1}) {
      if (step.neighbour[side] >= 0)
        x[static_cast<std::size_t>(step.neighbour[side])] +=
            step.fraction[side] * x[static_cast<std::size_t>(step.vertex)];
    }
  }
  for (auto step = all.steps.rbegin(); step != all.steps.rend(); ++step) {
    x[static_cast<std::size_t>(step->vertex)] *= step->inverse_pivot;
    for (const int side : {0, 1}) {
      if (step->neighbour[side] >= 0)
        x[static_cast<std::size_t>(step->vertex)] +=
            step->fraction[side] * x[static_cast<std::size_t>(step->neighbour[side])];
    }
  }
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(x[i], wanted[i], 1e-12);
}

TEST(LowDegreeElimination, CompleteGraphWithTails_KeepsTheCompleteGraph) {
  Host backend{Device::serial()};
  std::vector<Triplet<double>> triplets;
  const auto edge = [&](std::int32_t i, std::int32_t j, double weight) {
    triplets.insert(triplets.end(), {{i, j, -weight}, {j, i, -weight}, {i, i, weight}, {j, j, weight}});
  };
  for (std::int32_t i = 0; i < 5; ++i) {
    for (std::int32_t j = 0; j < i; ++j) edge(i, j, 1 + i);
    edge(i, 5 + i, 2);
  }
  edge(5, 10, 3);  // a path from 5 over 10 to 6: 0-5-10-6-1 is one edge
  edge(10, 6, 6);
  const Csr<double> A = Csr<double>::from_triplets(11, 11, triplets);
  const graph_laplacian::LowDegreeElimination reduction =
      graph_laplacian::eliminate_low_degrees(backend, A, std::vector<double>(11, 0));
  EXPECT_EQ(reduction.kept, (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(reduction.steps.size(), 6U);
  const double series = 1 / (1 / 2.0 + 1 / 3.0 + 1 / 6.0 + 1 / 2.0);
  EXPECT_NEAR(reduction.core.values()[1], -(2 + series), 1e-14);
  EXPECT_NEAR(reduction.core.values()[0], 2 + 3 + 4 + 5 + series, 1e-14);
}

}  // namespace
}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/target.hpp"
#include "graph_laplacian/approximate_cholesky/factor.hpp"
#include "graph_laplacian/approximate_cholesky/low_degree.hpp"
#include "graph_laplacian/approximate_cholesky/pcg.hpp"
#include "graph_laplacian/approximate_cholesky/star.hpp"
#include "graph_laplacian/components.hpp"
#include "support/sparse_systems.hpp"

#include <echelon/echelon.hpp>
#include <echelon/methods/approximate_cholesky.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <variant>
#include <vector>

namespace echelon {
namespace {

using graph_laplacian::ApproximateFactor;
using graph_laplacian::dissect;
using graph_laplacian::Neighbour;
using test::product;

Csr<double> graph(const std::string& generator, const Options& options) {
  return std::get<Csr<double>>(make_matrix<double>(generator, options));
}

std::vector<double> random_vector(std::int64_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& value : x) value = unit(random);
  return x;
}

double mean(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value;
  return sum / static_cast<double>(x.size());
}

std::vector<double> first_column(const Dense<double>& X) {
  std::vector<double> x(static_cast<std::size_t>(X.rows()));
  for (std::int64_t i = 0; i < X.rows(); ++i) x[static_cast<std::size_t>(i)] = X(i, 0);
  return x;
}

Solution<double> solve_by_ac(const Csr<double>& A, const std::vector<double>& b,
                             const Options& options = {}) {
  SolveOptions solve_options;
  solve_options.method = "approximate-cholesky";
  solve_options.device = Device::serial();
  solve_options.parameters = options;
  return solve(A, b, solve_options);
}

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
  Serial backend{Device::serial()};
  return graph_laplacian::find_components(backend, A).count;
}

constexpr std::int64_t smallest_leaf = 500;

/// Graphs with a tree of several nodes and with a single one.
std::vector<Csr<double>> graphs_to_dissect() {
  std::vector<Csr<double>> graphs;
  graphs.push_back(graph("erdos-renyi", {{"n", 3000}, {"degree", 2.5}}));
  graphs.push_back(graph("grid-2d", {{"nx", 100}, {"ny", 90}, {"weights", "log-uniform"}, {"decades", 6}}));
  graphs.push_back(graph("grid-3d", {{"nx", 30}, {"ny", 31}, {"nz", 29}}));
  graphs.push_back(graph("chimera", {{"n", 20000}, {"seed", 3}}));
  graphs.push_back(graph("barabasi-albert", {{"n", 20000}, {"k", 2}}));
  return graphs;
}

template <class B>
ApproximateFactor<double> factored(B backend, const Csr<double>& A, double excess, std::uint64_t seed) {
  const std::vector<double> all(static_cast<std::size_t>(A.rows()), excess);
  return graph_laplacian::eliminate_by_degree<double>(backend, A, all.data(),
                                                      dissect(backend, A, smallest_leaf), {.seed = seed});
}

TEST(EliminationTree, EdgesAndFill_StayOnPathsToTheRoot) {
  Serial serial{Device::serial()};
  OpenMp threads{Device::openmp(3)};
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
    const ApproximateFactor<double> factor = factored(Serial(Device::serial()), A, 0, 5);
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
    const ApproximateFactor<double> factor = factored(Serial(Device::serial()), A, 1e-3, 5);
    for (const int threads : {1, 2, 5}) {
      const ApproximateFactor<double> other = factored(OpenMp(Device::openmp(threads)), A, 1e-3, 5);
      EXPECT_EQ(values_of(factor), values_of(other)) << threads;
      for (std::size_t node = 0; node < factor.nodes.size(); ++node) {
        EXPECT_EQ(factor.nodes[node].order, other.nodes[node].order);
        EXPECT_EQ(factor.nodes[node].rows, other.nodes[node].rows);
        EXPECT_EQ(factor.nodes[node].parent_rows, other.nodes[node].parent_rows);
      }
    }
    EXPECT_NE(values_of(factor), values_of(factored(Serial(Device::serial()), A, 1e-3, 6)));
  }
}

TEST(ApproximateFactor, ChainsAcrossNodes_FactoredExactly) {
  // No clique is sampled where every star has at most two neighbours: the factor is exact.
  for (const char* generator : {"path", "ring"}) {
    const Csr<double> A = graph(generator, {{"n", 20000}, {"weights", "log-uniform"}, {"decades", 1}});
    OpenMp backend{Device::openmp(3)};
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

/// y = A x for K interleaved columns, whose elements are small whole numbers: exact in any order.
template <int K>
void expect_exact_products(const Csr<double>& A) {
  const auto n = static_cast<std::size_t>(A.rows());
  std::vector<double> p(K * n);
  for (std::size_t k = 0; k < p.size(); ++k) p[k] = static_cast<double>(k % 7) - 3;
  std::vector<double> expected(K * n, 0.0);
  graph_laplacian::ColumnSums<K> expected_sums{};
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = static_cast<std::int64_t>(i);
    for (std::size_t c = 0; c < K; ++c) {
      for (std::int64_t k = A.row_offsets()[row]; k < A.row_offsets()[row + 1]; ++k) {
        const auto column = static_cast<std::size_t>(A.column_indices()[k]);
        expected[K * i + c] += A.values()[k] * p[K * column + c];
      }
      expected_sums[c] += expected[K * i + c] * p[K * i + c];
    }
  }
  std::vector<double> found(K * n);
  OpenMp backend(Device::openmp(3));
  EXPECT_EQ(graph_laplacian::multiply_columns<K>(backend, A, p.data(), found.data()), expected_sums);
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
  expect_exact_products<1>(A);
  expect_exact_products<8>(A);
}

TEST(LowDegreeElimination, TriangleWithTails_SolvedExactly) {
  Serial backend{Device::serial()};
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
  Serial backend{Device::serial()};
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

TEST(ApproximateCholesky, Trees_SolvedInOneIteration) {
  for (const char* generator : {"path", "star", "complete-binary-tree", "random-tree"}) {
    for (const std::int64_t n : {1, 2, 3, 31, 33, 1025}) {
      const Csr<double> A = graph(generator, {{"n", n}, {"weights", "log-uniform"}, {"decades", 6}});
      const std::vector<double> b = product(A, random_vector(n, 3));
      const Solution<double> solution = solve_by_ac(A, b);
      EXPECT_TRUE(solution.report.solved()) << generator << ' ' << n << ' ' << solution.report.message;
      EXPECT_LE(solution.report.iterations, 2) << generator << ' ' << n;
    }
  }
}

struct GraphCase {
  const char* generator;
  Options options;
};

TEST(ApproximateCholesky, Graphs_SolvedWithMeanZero) {
  const std::vector<GraphCase> cases = {
      {"grid-2d", {{"nx", 60}, {"ny", 50}}},
      {"grid-2d", {{"nx", 60}, {"ny", 50}, {"weight_y", 1e-4}}},
      {"grid-2d", {{"nx", 60}, {"ny", 50}, {"weights", "log-uniform"}, {"decades", 12}}},
      {"grid-3d", {{"nx", 15}, {"ny", 16}, {"nz", 17}}},
      {"complete", {{"n", 100}}},
      {"barabasi-albert", {{"n", 3000}, {"k", 3}}},
      {"chimera", {{"n", 3000}, {"seed", 3}}},
      {"chimera", {{"n", 3000}, {"seed", 4}, {"weights", "chimera"}}},
      {"sachdeva-star", {{"clique", 20}, {"copies", 20}}},
      {"barbell", {{"clique", 30}, {"path", 300}}},
      {"ring", {{"n", 1000}}},
  };
  for (const GraphCase& graph_case : cases) {
    const Csr<double> A = graph(graph_case.generator, graph_case.options);
    const std::vector<double> b = product(A, random_vector(A.rows(), 9));
    for (const std::int64_t split : {1, 2}) {
      const Solution<double> solution = solve_by_ac(A, b, {{"split", split}});
      EXPECT_EQ(solution.report.status, Status::converged) << graph_case.generator << solution.report.message;
      EXPECT_LE(solution.report.relative_residual, 1e-8) << graph_case.generator;
      EXPECT_LE(solution.report.iterations, 100) << graph_case.generator;
      const std::vector<double> x = first_column(solution.x);
      double largest = 0;
      for (const double value : x) largest = std::max(largest, std::abs(value));
      EXPECT_LE(std::abs(mean(x)), 1e-12 * largest) << graph_case.generator;
    }
  }
}

TEST(ApproximateCholesky, SddmAndPositiveElements_MatchKnownSolution) {
  for (const char* form : {"sddm", "positive"}) {
    Csr<double> A = graph("chimera", {{"n", 1500}, {"seed", 8}, {"form", "sddm"}});
    if (std::string(form) == "positive") {
      for (std::int64_t i = 0; i < A.rows(); ++i) {
        for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
          const std::int64_t j = A.column_indices()[k];
          if (i != j && (i + j) % 3 == 0) A.values()[k] *= -1;
        }
      }
    }
    const std::vector<double> wanted = random_vector(A.rows(), 4);
    const Solution<double> solution = solve_by_ac(A, product(A, wanted), {{"rtol", 1e-12}});
    ASSERT_TRUE(solution.report.solved()) << form << ": " << solution.report.message;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_NEAR(solution.x(static_cast<std::int64_t>(i), 0), wanted[i], 1e-7) << form;
    }
  }
}

TEST(ApproximateCholesky, WeightsOverManyDecades_Solved) {
  const std::vector<GraphCase> cases = {
      {"chimera", {{"n", 2000}, {"seed", 5}, {"weights", "log-uniform"}, {"decades", 20}}},
      {"grid-2d", {{"nx", 50}, {"ny", 50}, {"weights", "log-uniform"}, {"decades", 24}}},
      {"barabasi-albert", {{"n", 2000}, {"k", 3}, {"weights", "log-uniform"}, {"decades", 24}}}};
  for (const GraphCase& graph_case : cases) {
    const Csr<double> A = graph(graph_case.generator, graph_case.options);
    const Solution<double> solution = solve_by_ac(A, product(A, random_vector(A.rows(), 1)));
    EXPECT_TRUE(solution.report.solved()) << graph_case.generator << ": " << solution.report.message;
  }
}

/// Rounding limits the residual; the iteration has to end there and not go on until it diverges.
TEST(ApproximateCholesky, PointSourcesAndWeightsOf16Decades_SolvedToRounding) {
  constexpr std::int32_t n = 200;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(-8, 8);
  std::vector<Triplet<double>> triplets;
  const auto join = [&](std::int32_t i, std::int32_t j) {
    const double w = std::pow(10, exponent(random));
    if (i != j) triplets.insert(triplets.end(), {{i, j, -w}, {j, i, -w}, {i, i, w}, {j, j, w}});
  };
  for (std::int32_t i = 0; i + 1 < n; ++i) join(i, i + 1);
  for (int edge = 0; edge < 300; ++edge) {
    join(static_cast<std::int32_t>(random() % n), static_cast<std::int32_t>(random() % n));
  }
  const Csr<double> A = Csr<double>::from_triplets(n, n, triplets);
  for (std::size_t v = 0; v < n; v += 5) {
    std::vector<double> b(n, -1.0 / n);
    b[v] += 1;
    const Report report = solve_by_ac(A, b, {{"rtol", 1e-9}}).report;
    EXPECT_TRUE(report.solved() || report.status == Status::stagnated) << v << ' ' << report.message;
    EXPECT_LE(report.backward_error, 1e-15) << v;
  }
}

TEST(ApproximateCholesky, ScaledMatrix_TakesTheSameIterations) {
  Csr<double> A = graph("grid-2d", {{"nx", 40}, {"ny", 40}});
  const std::vector<double> b = product(A, random_vector(A.rows(), 2));
  const std::int64_t iterations = solve_by_ac(A, b).report.iterations;
  for (const double scale : {0x1p-200, 0x1p200}) {
    Csr<double> scaled = A;
    for (std::int64_t k = 0; k < scaled.nonzeros(); ++k) scaled.values()[k] *= scale;
    const Solution<double> solution = solve_by_ac(scaled, b);
    EXPECT_TRUE(solution.report.solved()) << solution.report.message;
    EXPECT_EQ(solution.report.iterations, iterations);
  }
}

TEST(ApproximateCholesky, ManyComponents_SolvedTogether) {
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < 9000; i += 3) {  // triangles, and every tenth block three isolated vertices
    if (i % 30 == 0) continue;
    for (std::int32_t e = 0; e < 3; ++e) {
      const std::int32_t a = i + e;
      const std::int32_t b = i + (e + 1) % 3;
      triplets.insert(triplets.end(), {{a, b, -1}, {b, a, -1}, {a, a, 1}, {b, b, 1}});
    }
  }
  const Csr<double> A = Csr<double>::from_triplets(9000, 9000, triplets);
  const Solution<double> solution = solve_by_ac(A, product(A, random_vector(9000, 5)));
  EXPECT_TRUE(solution.report.solved()) << solution.report.message;
  EXPECT_EQ(std::get<std::int64_t>(solution.report.find_statistic("components")->value), 2700 + 900);
  EXPECT_EQ(solution.x(0, 0), 0);
}

TEST(ApproximateCholesky, UnreachableRightHandSide_ProjectedOrInconsistent) {
  const Csr<double> A = graph("grid-2d", {{"nx", 10}, {"ny", 10}});
  std::vector<double> b(100, 0);
  b[0] = 1;
  const Solution<double> projected = solve_by_ac(A, b);
  EXPECT_EQ(projected.report.status, Status::converged);
  EXPECT_NEAR(projected.report.residual_norm, 0.1, 1e-7);  // of a mean of 1/100 in 100 elements
  ASSERT_EQ(projected.report.warnings.size(), 1U);
  EXPECT_NE(projected.report.warnings[0].find("0.1 of ||b||"), std::string::npos)
      << projected.report.warnings[0];
  const Solution<double> strict = solve_by_ac(A, b, {{"strict", true}});
  EXPECT_EQ(strict.report.status, Status::inconsistent);
  EXPECT_EQ(strict.x.to_vector(), projected.x.to_vector());
  for (const Report& report : {projected.report, strict.report}) {
    EXPECT_NEAR(std::get<double>(report.find_statistic("removed_norm")->value), 0.1, 1e-12);
  }
}

/// The tolerance is below what rounding allows; the warning about b remains nevertheless.
TEST(ApproximateCholesky, UnreachableAndLimitedByRounding_RemovedPartIsNamed) {
  const Csr<double> A = graph("path", {{"n", 3000}});
  const std::vector<double> b = random_vector(A.rows(), 5);
  const auto [x, report] = solve_by_ac(A, b, {{"rtol", 3e-16}});
  EXPECT_EQ(report.status, Status::converged) << report.message;
  ASSERT_EQ(report.warnings.size(), 1U) << report.message;
  EXPECT_NE(report.warnings[0].find("was removed"), std::string::npos) << report.warnings[0];
  const std::vector<double> product_with_x = product(A, first_column(x));
  double residual = 0;
  double right = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    residual += std::pow(product_with_x[i] - b[i] + mean(b), 2);
    right += b[i] * b[i];
  }
  EXPECT_GT(std::sqrt(residual), 3e-16 * std::sqrt(right)) << "rounding does not limit this residual";
}

TEST(ApproximateCholesky, MatricesOutsideItsClass_AreRefused) {
  const Csr<double> indefinite =
      Csr<double>::from_triplets(3, 3, {{0, 0, 1}, {1, 1, 1}, {1, 2, -3}, {2, 1, -3}, {2, 2, 1}});
  const Report report = solve_by_ac(indefinite, {1, 1, 1}).report;
  EXPECT_EQ(report.status, Status::breakdown);
  EXPECT_EQ(report.row, 1);
  EXPECT_NE(report.message.find("not diagonally dominant"), std::string::npos) << report.message;
}

TEST(ApproximateCholesky, ManyColumns_AgreeWithSingleOnes) {
  const Csr<double> A = graph("chimera", {{"n", 1000}, {"seed", 12}});
  const std::int64_t n = A.rows();
  Dense<double> B(Device::serial(), n, 11);
  for (std::int64_t j = 0; j < 11; ++j) {
    const std::vector<double> b = j == 4 ? std::vector<double>(static_cast<std::size_t>(n), 0.0)
                                         : product(A, random_vector(n, static_cast<std::uint64_t>(j)));
    for (std::int64_t i = 0; i < n; ++i) B(i, j) = b[static_cast<std::size_t>(i)];
  }
  ApproximateCholesky<double> solver(Device::serial(), {.stop = {.rtol = 1e-12}});
  ASSERT_TRUE(solver.setup(A).ready());
  Dense<double> X(Device::serial(), n, 11);
  const Report report = solver.solve(B, X);
  EXPECT_TRUE(report.solved()) << report.message;
  EXPECT_EQ(report.columns[4].iterations, 0);
  for (const std::int64_t j : {0, 4, 7, 10}) {
    Dense<double> x(Device::serial(), n, 1);
    const Report single =
        solver.solve(DenseView<const double>(B.view().column(j), n, 1, n, Device::serial()), x);
    EXPECT_TRUE(single.solved());
    for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(x(i, 0), X(i, j), 1e-8);
  }
}

TEST(ApproximateCholesky, ThreadCounts_GiveTheSameBits) {
  const Csr<double> A = graph("grid-2d", {{"nx", 400}, {"ny", 350}});
  const std::vector<double> b = product(A, random_vector(A.rows(), 6));
  std::vector<std::vector<double>> answers;
  for (const Device& device : {Device::serial(), Device::openmp(1), Device::openmp(4)}) {
    SolveOptions options;
    options.method = "approximate-cholesky";
    options.device = device;
    answers.push_back(first_column(solve(A, b, options).x));
  }
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_EQ(answers[0], answers[2]);
}

TEST(ApproximateCholesky, InitialGuess_SavesIterations) {
  const Csr<double> A = graph("grid-2d", {{"nx", 50}, {"ny", 50}, {"form", "sddm"}});
  const std::vector<double> wanted = random_vector(A.rows(), 6);
  const std::vector<double> b = product(A, wanted);
  ApproximateCholesky<double> solver(Device::serial());
  ASSERT_TRUE(solver.setup(A).ready());
  Dense<double> x(Device::serial(), A.rows(), 1);
  const std::int64_t cold = solver.solve(b, x).iterations;
  for (std::int64_t i = 0; i < A.rows(); ++i) x(i, 0) = wanted[static_cast<std::size_t>(i)] * (1 + 1e-6);
  Control control;
  control.use_initial_guess = true;
  const Report warm = solver.solve(b, x, control);
  EXPECT_TRUE(warm.solved());
  EXPECT_LT(warm.iterations, cold / 2);
}

TEST(ApproximateCholesky, AsPreconditionerOfCg_TakesAsManyIterations) {
  const Csr<double> A = graph("grid-2d", {{"nx", 80}, {"ny", 80}});
  const std::vector<double> b = product(A, random_vector(A.rows(), 8));
  SolveOptions options;
  options.method = "cg";
  options.device = Device::serial();
  options.parameters = {{"preconditioner", "approximate-cholesky"}};
  const Report nested = solve(A, b, options).report;
  const Report own = solve_by_ac(A, b).report;
  EXPECT_TRUE(nested.solved()) << nested.message;
  EXPECT_NEAR(static_cast<double>(nested.iterations), static_cast<double>(own.iterations), 2);
}

TEST(ApproximateCholesky, Float_Solved) {
  const Csr<float> A =
      std::get<Csr<float>>(make_matrix<float>("grid-3d", {{"nx", 12}, {"ny", 12}, {"nz", 12}}));
  const std::vector<double> wide = random_vector(A.rows(), 8);
  std::vector<float> b(wide.begin(), wide.end());
  float sum = 0;
  for (const float value : b) sum += value;
  for (float& value : b) value -= sum / static_cast<float>(b.size());
  SolveOptions options;
  options.method = "approximate-cholesky";
  options.device = Device::serial();
  const Report report = solve(A, b, options).report;
  EXPECT_TRUE(report.solved()) << report.message;
}

}  // namespace
}  // namespace echelon

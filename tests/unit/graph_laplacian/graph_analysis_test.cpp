// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/blas/decompositions.hpp"

#include <echelon/error.hpp>
#include <echelon/generate.hpp>
#include <echelon/graph/analysis.hpp>
#include <echelon/matrix/csr.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace echelon {
namespace {

Csr<double> graph_of(const std::string& generator, const Options& options) {
  return std::get<Csr<double>>(make_matrix<double>(generator, options));
}

Csr<double> from_edges(std::int32_t n, const std::vector<Triplet<double>>& edges) {
  std::vector<Triplet<double>> triplets;
  for (const auto& [i, j, w] : edges) {
    triplets.insert(triplets.end(), {{i, j, -w}, {j, i, -w}, {i, i, w}, {j, j, w}});
  }
  return Csr<double>::from_triplets(n, n, triplets);
}

/// The hypercube of dimension d.
Csr<double> hypercube(int d) {
  std::vector<Triplet<double>> edges;
  for (std::int32_t v = 0; v < (1 << d); ++v) {
    for (int b = 0; b < d; ++b) {
      if ((v >> b & 1) == 0) edges.push_back({v, v | 1 << b, 1});
    }
  }
  return from_edges(1 << d, edges);
}

/// The pseudo-inverse by an eigendecomposition, column-major.
std::vector<double> pseudo_inverse(const Csr<double>& L) {
  const auto n = static_cast<std::size_t>(L.rows());
  std::vector<double> a(n * n, 0);
  for (std::int64_t i = 0; i < L.rows(); ++i) {
    for (std::int64_t k = L.row_offsets()[i]; k < L.row_offsets()[i + 1]; ++k) {
      a[static_cast<std::size_t>(L.column_indices()[k]) * n + static_cast<std::size_t>(i)] = L.values()[k];
    }
  }
  std::vector<double> values(n);
  EXPECT_TRUE(lapack::symmetric_eigenvectors(static_cast<int>(n), a.data(), values.data()));
  std::vector<double> inverse(n * n, 0);
  for (std::size_t e = 0; e < n; ++e) {
    if (values[e] < 1e-9 * values[n - 1]) continue;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) inverse[j * n + i] += a[e * n + i] * a[e * n + j] / values[e];
    }
  }
  return inverse;
}

double resistance(const Csr<double>& L, std::int32_t u, std::int32_t v) {
  const std::vector<graph::Pair> pair = {{u, v}};
  return graph::resistances(L, pair).values[0];
}

TEST(EffectiveResistance, ClosedForms_Met) {
  const Csr<double> path = from_edges(4, {{0, 1, 0.25}, {1, 2, 0.2}, {2, 3, 0.5}});
  EXPECT_NEAR(resistance(path, 0, 3), 11, 1e-9);  // 4 + 5 + 2
  EXPECT_NEAR(resistance(graph_of("path", {{"n", 100}}), 10, 90), 80, 1e-7);
  EXPECT_NEAR(resistance(graph_of("ring", {{"n", 100}}), 0, 30), 30 * 70 / 100.0, 1e-7);
  EXPECT_NEAR(resistance(graph_of("complete", {{"n", 50}}), 3, 17), 2 / 50.0, 1e-10);
  EXPECT_NEAR(resistance(graph_of("star", {{"n", 50}}), 3, 17), 2, 1e-9);
  // Neighbours in the hypercube: 1 - 2^-d parts of d; by Foster's theorem and symmetry (2^d - 1) / (d
  // 2^(d-1)).
  EXPECT_NEAR(resistance(hypercube(6), 0, 1), 63 / (6 * 32.0), 1e-9);
  // Edges of a square of four unit resistors, and its diagonal.
  const Csr<double> square = graph_of("grid-2d", {{"nx", 2}, {"ny", 2}});
  EXPECT_NEAR(resistance(square, 0, 1), 0.75, 1e-10);
  EXPECT_NEAR(resistance(square, 0, 3), 1, 1e-10);
}

TEST(EffectiveResistance, Grids_MatchTheSumOverEigenvectors) {
  constexpr std::int32_t nx = 12;
  constexpr std::int32_t ny = 7;
  const Csr<double> grid = graph_of("grid-2d", {{"nx", nx}, {"ny", ny}});
  // Eigenvectors of a grid are products of those of two paths, eigenvalues are sums.
  const auto eigenvector = [](int k, int n, int x) {
    return std::sqrt((k == 0 ? 1.0 : 2.0) / n) * std::cos(std::numbers::pi * k * (x + 0.5) / n);
  };
  const auto expected = [&](int u, int v) {
    double sum = 0;
    for (int i = 0; i < nx; ++i) {
      for (int j = i == 0 ? 1 : 0; j < ny; ++j) {
        const double value =
            4 - 2 * std::cos(std::numbers::pi * i / nx) - 2 * std::cos(std::numbers::pi * j / ny);
        const double difference = eigenvector(i, nx, u % nx) * eigenvector(j, ny, u / nx) -
                                  eigenvector(i, nx, v % nx) * eigenvector(j, ny, v / nx);
        sum += difference * difference / value;
      }
    }
    return sum;
  };
  for (const auto& [u, v] : std::vector<std::pair<int, int>>{{0, 1}, {0, nx}, {0, nx * ny - 1}, {17, 50}}) {
    EXPECT_NEAR(resistance(grid, u, v), expected(u, v), 1e-8) << u << ' ' << v;
  }
}

TEST(EffectiveResistance, Pairs_MatchThePseudoInverse) {
  const Csr<double> L = graph_of("chimera", {{"n", 120}, {"seed", 3}, {"weights", "uniform"}});
  const std::vector<double> P = pseudo_inverse(L);
  const auto at = [&](std::int32_t i, std::int32_t j) {
    return P[static_cast<std::size_t>(j) * 120 + static_cast<std::size_t>(i)];
  };
  std::mt19937 random(1);
  std::vector<graph::Pair> pairs;
  for (int k = 0; k < 100; ++k) {
    pairs.push_back({static_cast<std::int32_t>(random() % 120), static_cast<std::int32_t>(random() % 120)});
  }
  const graph::Resistances result = graph::resistances(L, pairs);
  EXPECT_TRUE(result.report.solved());
  for (std::size_t k = 0; k < pairs.size(); ++k) {
    const auto [u, v] = pairs[k];
    EXPECT_NEAR(result.values[k], at(u, u) + at(v, v) - 2 * at(u, v), 1e-7);
  }
}

TEST(EffectiveResistance, AllPairsOfSomeVertices_TakeASolveForEachVertex) {
  const Csr<double> L = graph_of("chimera", {{"n", 500}, {"seed", 5}, {"weights", "uniform"}});
  const std::vector<std::int32_t> vertices = {3, 499, 17, 250, 0, 123};
  std::vector<graph::Pair> pairs;
  for (const std::int32_t u : vertices) {
    for (const std::int32_t v : vertices) pairs.push_back({u, v});
  }
  const graph::Resistances together = graph::resistances(L, pairs);
  EXPECT_TRUE(together.report.solved());
  EXPECT_EQ(together.solves, 5);
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    const auto [u, v] = pairs[p];
    EXPECT_NEAR(together.values[p], u == v ? 0 : resistance(L, u, v), 1e-7) << u << ' ' << v;
  }
}

TEST(EffectiveResistance, PairsInSeveralComponents_TakeTheFewerSolves) {
  // A path of three resistors of 1/2, all pairs, and a triangle of unit resistors, one pair.
  const Csr<double> L = from_edges(7, {{0, 1, 2}, {1, 2, 2}, {2, 3, 2}, {4, 5, 1}, {5, 6, 1}, {4, 6, 1}});
  const std::vector<graph::Pair> pairs = {{0, 1}, {6, 4}, {0, 2}, {3, 0}, {2, 1}, {3, 1}, {3, 2}, {2, 5}};
  const graph::Resistances result = graph::resistances(L, pairs);
  EXPECT_EQ(result.solves, 3 + 1);
  const std::vector<double> expected = {0.5, 2 / 3.0, 1, 1.5, 0.5, 1, 0.5};
  for (std::size_t p = 0; p < expected.size(); ++p) EXPECT_NEAR(result.values[p], expected[p], 1e-9) << p;
  EXPECT_TRUE(std::isinf(result.values.back()));
}

TEST(EffectiveResistance, Components_AreInfinitelyFar) {
  const Csr<double> L = from_edges(5, {{0, 1, 2}, {2, 3, 1}});
  EXPECT_TRUE(std::isinf(resistance(L, 0, 2)));
  EXPECT_TRUE(std::isinf(resistance(L, 4, 2)));
  EXPECT_EQ(resistance(L, 4, 4), 0);
  EXPECT_NEAR(resistance(L, 1, 0), 0.5, 1e-12);
  const std::vector<graph::Pair> outside = {{0, 5}};
  EXPECT_THROW(static_cast<void>(graph::resistances(L, outside)), BadOption);
}

TEST(EffectiveResistance, FailedSetup_LeavesNoNumbers) {
  // Jacobi refuses the vertex without an edge.
  const Csr<double> L = from_edges(4, {{0, 1, 2}, {1, 2, 1}});
  const std::vector<graph::Pair> pairs = {{0, 2}, {1, 1}, {0, 3}};
  const graph::Resistances result = graph::resistances(L, pairs, {.method = "jacobi"});
  EXPECT_EQ(result.report.status, Status::breakdown);
  EXPECT_EQ(result.solves, 0);
  EXPECT_TRUE(std::isnan(result.values[0]));
  EXPECT_EQ(result.values[1], 0);
  EXPECT_TRUE(std::isinf(result.values[2]));
  for (const double error : {0.0, 0.5}) {
    const graph::EdgeResistances edges =
        graph::edge_resistances(L, {.solve = {.method = "jacobi"}, .error = error});
    EXPECT_EQ(edges.report.status, Status::breakdown);
    for (const graph::EdgeResistance& edge : edges.edges) EXPECT_TRUE(std::isnan(edge.resistance));
  }
  const graph::Potentials potentials =
      graph::potentials(L, std::vector<double>{1, 0, -1, 0}, {.method = "jacobi"});
  EXPECT_EQ(potentials.report.status, Status::breakdown);
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_TRUE(std::isnan(potentials.x(i, 0)));
}

TEST(EffectiveResistance, CancelledSolve_LeavesNoNumbers) {
  std::stop_source stop;
  stop.request_stop();
  const Csr<double> L = graph_of("grid-2d", {{"nx", 20}, {"ny", 20}});
  const std::vector<graph::Pair> pairs = {{0, 399}};
  const graph::Resistances result = graph::resistances(L, pairs, {.cancel = stop.get_token()});
  EXPECT_EQ(result.report.status, Status::cancelled);
  EXPECT_TRUE(std::isnan(result.values[0]));
  const graph::EdgeResistances edges = graph::edge_resistances(L, {.solve = {.cancel = stop.get_token()}});
  EXPECT_EQ(edges.report.status, Status::cancelled);
  for (const graph::EdgeResistance& edge : edges.edges) EXPECT_TRUE(std::isnan(edge.resistance));
}

TEST(EdgeResistances, Exact_MatchPairsAndFoster) {
  const Csr<double> L = graph_of("erdos-renyi", {{"n", 150}, {"degree", 2.5}, {"weights", "uniform"}});
  const graph::EdgeResistances result = graph::edge_resistances(L);
  EXPECT_EQ(result.error, 0);
  EXPECT_NEAR(result.foster_sum, static_cast<double>(result.foster_rank), 1e-6);
  EXPECT_EQ(result.foster_rank, 150 - graph::components(L).count);
  std::vector<graph::Pair> pairs;
  for (const graph::EdgeResistance& edge : result.edges) pairs.push_back({edge.first, edge.second});
  const std::vector<double> wanted = graph::resistances(L, pairs).values;
  for (std::size_t e = 0; e < pairs.size(); ++e) EXPECT_NEAR(result.edges[e].resistance, wanted[e], 1e-6);
}

TEST(EdgeResistances, Estimates_HaveTheStatedError) {
  const Csr<double> L = graph_of("grid-2d", {{"nx", 20}, {"ny", 20}});
  const graph::EdgeResistances exact = graph::edge_resistances(L);
  const graph::EdgeResistances estimate = graph::edge_resistances(L, {.error = 0.1});
  EXPECT_LE(estimate.error, 0.1);
  EXPECT_EQ(estimate.solves, 200);
  double squares = 0;
  for (std::size_t e = 0; e < exact.edges.size(); ++e) {
    const double deviation = estimate.edges[e].resistance / exact.edges[e].resistance - 1;
    EXPECT_LT(std::abs(deviation), 6 * estimate.error);
    squares += deviation * deviation;
  }
  const double spread = std::sqrt(squares / static_cast<double>(exact.edges.size()));
  EXPECT_LT(spread, 1.2 * estimate.error);
  EXPECT_GT(spread, 0.4 * estimate.error);
  EXPECT_NEAR(estimate.foster_sum / static_cast<double>(estimate.foster_rank), 1, 0.05);
}

TEST(Potentials, CurrentsThroughAPath_FallLinearly) {
  const Csr<double> L = graph_of("path", {{"n", 11}});
  std::vector<double> currents(11, 0);
  currents[0] = 2;
  currents[10] = -2;
  const graph::Potentials result = graph::potentials(L, currents);
  EXPECT_TRUE(result.report.solved());
  for (std::int64_t i = 0; i < 11; ++i) EXPECT_NEAR(result.x(i, 0), 2 * (5.0 - static_cast<double>(i)), 1e-9);
  currents[10] = 0;
  EXPECT_FALSE(graph::potentials(L, currents).report.warnings.empty());
  EXPECT_EQ(graph::potentials(L, currents, {}, true).report.status, Status::inconsistent);
}

TEST(Fiedler, PathAndCycle_HaveTheirEigenvalues) {
  for (const std::int64_t n : {2, 5, 100, 1000}) {
    const graph::Eigenpairs path = graph::fiedler(graph_of("path", {{"n", n}}));
    EXPECT_EQ(path.status, Status::converged) << n;
    const double angle = std::numbers::pi / static_cast<double>(n);
    EXPECT_NEAR(path.values[0], 2 - 2 * std::cos(angle), 1e-9) << n;
  }
  const graph::Eigenpairs ring = graph::fiedler(graph_of("ring", {{"n", 200}}), {.count = 4});
  ASSERT_EQ(ring.values.size(), 4U);
  for (const int k : {0, 1, 2, 3}) {
    EXPECT_NEAR(ring.values[static_cast<std::size_t>(k)],
                2 - 2 * std::cos(2 * std::numbers::pi * (1 + k / 2) / 200), 1e-9);
  }
}

TEST(Fiedler, LongPath_EigenvalueFarBelowTheTolerance) {
  // lambda_2 is 4e-9 of the norm, less than the tolerance.
  constexpr std::int64_t n = 25000;
  const double expected = 4 * std::pow(std::sin(std::numbers::pi / (2.0 * n)), 2);
  const graph::Eigenpairs path = graph::fiedler(graph_of("path", {{"n", n}}));
  EXPECT_EQ(path.status, Status::converged);
  EXPECT_TRUE(path.message.empty()) << path.message;
  EXPECT_NEAR(path.values[0] / expected, 1, 1e-5);
  EXPECT_LE(path.residuals[0], 1e-3 * expected);
}

TEST(Fiedler, WeightsOf24Decades_DoubtStated) {
  // Two heavy edges, joined by a light one: lambda_2 = 1e-12 up to its last digits.
  const Csr<double> L = from_edges(4, {{0, 1, 1e12}, {2, 3, 1e12}, {1, 2, 1e-12}});
  const graph::Eigenpairs pairs = graph::fiedler(L, {.count = 2});
  ASSERT_EQ(pairs.values.size(), 2U);
  EXPECT_GE(pairs.values[0], 0);
  EXPECT_NEAR(pairs.values[1] / 2e12, 1, 1e-9);
  EXPECT_NE(pairs.message.find("no digit"), std::string::npos) << pairs.message;
}

TEST(Fiedler, CompleteGraphAndGrid_HaveTheirEigenvalues) {
  const graph::Eigenpairs complete = graph::fiedler(graph_of("complete", {{"n", 30}}), {.count = 3});
  for (const double value : complete.values) EXPECT_NEAR(value, 30, 1e-8);
  const graph::Eigenpairs grid = graph::fiedler(graph_of("grid-2d", {{"nx", 40}, {"ny", 25}}), {.count = 2});
  EXPECT_EQ(grid.status, Status::converged);
  EXPECT_NEAR(grid.values[0], 2 - 2 * std::cos(std::numbers::pi / 40), 1e-9);
  EXPECT_NEAR(grid.values[1], 2 - 2 * std::cos(std::numbers::pi / 25), 1e-9);
  const graph::Eigenpairs cube = graph::fiedler(hypercube(5), {.count = 5});
  for (const double value : cube.values) EXPECT_NEAR(value, 2, 1e-8);
}

TEST(Fiedler, Components_ConstantsLeftOut) {
  // A path of 3 and one of 4: eigenvalues 0, 0, 2 - sqrt 2, 1, ...
  const Csr<double> L = from_edges(7, {{0, 1, 1}, {1, 2, 1}, {3, 4, 1}, {4, 5, 1}, {5, 6, 1}});
  const graph::Eigenpairs pairs = graph::fiedler(L, {.count = 5});
  EXPECT_EQ(pairs.null_vectors, 2);
  const std::vector<double> wanted = {2 - std::sqrt(2), 1, 2, 3, 2 + std::sqrt(2)};
  for (std::size_t k = 0; k < wanted.size(); ++k) EXPECT_NEAR(pairs.values[k], wanted[k], 1e-9);
  for (std::int64_t j = 0; j < 5; ++j) {
    double first = 0;
    double second = 0;
    double squares = 0;
    for (std::int64_t i = 0; i < 7; ++i) {
      (i < 3 ? first : second) += pairs.vectors(i, j);
      squares += pairs.vectors(i, j) * pairs.vectors(i, j);
    }
    EXPECT_NEAR(first, 0, 1e-12);
    EXPECT_NEAR(second, 0, 1e-12);
    EXPECT_NEAR(squares, 1, 1e-12);
  }
  EXPECT_THROW(static_cast<void>(graph::fiedler(L, {.count = 6})), BadOption);
  EXPECT_THROW(static_cast<void>(graph::fiedler(L, {.tolerance = -1})), BadOption);
  EXPECT_THROW(static_cast<void>(graph::fiedler(L, {.tolerance = std::nan("")})), BadOption);
}

TEST(UngroundedComponents, Networks_RowsNamed) {
  // A path 0 - 2 - 5, a grounded edge 1 - 3, an edge 4 - 7 of tiny weight, a vertex 6 alone and a zero row 8.
  const std::vector<Triplet<double>> triplets = {
      {0, 0, 2},      {0, 2, -2},     {2, 0, -2},    {2, 2, 5},     {2, 5, -3},     {5, 2, -3},
      {5, 5, 3},      {1, 1, 1},      {1, 3, -1},    {3, 1, -1},    {3, 3, 1.0001}, {4, 4, 1e-30},
      {4, 7, -1e-30}, {7, 4, -1e-30}, {7, 7, 1e-30}, {6, 6, 1e-300}};
  const std::vector<std::vector<std::int32_t>> expected = {{0, 2, 5}, {4, 7}, {8}};
  EXPECT_EQ(graph::ungrounded_components(Csr<double>::from_triplets(9, 9, triplets)), expected);
  std::vector<Triplet<double>> negated = triplets;
  for (auto& triplet : negated) triplet.value = -triplet.value;
  EXPECT_EQ(graph::ungrounded_components(Csr<double>::from_triplets(9, 9, negated)), expected);
  const Csr<float> single =
      Csr<float>::from_triplets(2, 2, {{0, 0, 0.1F}, {0, 1, -0.1F}, {1, 0, -0.1F}, {1, 1, 0.1F}});
  EXPECT_EQ(graph::ungrounded_components(single), (std::vector<std::vector<std::int32_t>>{{0, 1}}));
}

TEST(UngroundedComponents, Laplacians_AllComponents) {
  for (const std::int64_t n : {1, 31, 33, 1025}) {
    const Csr<double> L = graph_of("erdos-renyi", {{"n", n}, {"degree", 1.2}, {"weights", "uniform"}});
    const graph::Components parts = graph::components(L);
    const auto found = graph::ungrounded_components(L);
    ASSERT_EQ(static_cast<std::int64_t>(found.size()), parts.count);
    for (std::size_t c = 0; c < found.size(); ++c) {
      EXPECT_EQ(static_cast<std::int64_t>(found[c].size()), parts.sizes[c]);
      for (const std::int32_t row : found[c]) {
        EXPECT_EQ(parts.of_vertex[static_cast<std::size_t>(row)], static_cast<std::int32_t>(c));
      }
    }
  }
  EXPECT_TRUE(graph::ungrounded_components(Csr<double>::from_triplets(0, 0, {})).empty());
  const Csr<double> directed = Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {0, 1, -1}});
  EXPECT_THROW(static_cast<void>(graph::ungrounded_components(directed)), InvalidMatrix);
}

TEST(GraphAnalysis, MatricesThatAreNoLaplacians_AreRefused) {
  const Csr<double> adjacency = Csr<double>::from_triplets(2, 2, {{0, 1, 1}, {1, 0, 1}});
  EXPECT_THROW(static_cast<void>(graph::fiedler(adjacency)), InvalidMatrix);
  const Csr<double> shifted =
      Csr<double>::from_triplets(2, 2, {{0, 0, 2}, {0, 1, -1}, {1, 0, -1}, {1, 1, 1}});
  EXPECT_THROW(static_cast<void>(graph::edge_resistances(shifted)), InvalidMatrix);
  const Csr<double> directed =
      Csr<double>::from_triplets(2, 2, {{0, 0, 1}, {0, 1, -1}, {1, 0, 0}, {1, 1, 0}});
  EXPECT_THROW(static_cast<void>(graph::components(directed)), InvalidMatrix);
  EXPECT_THROW(static_cast<void>(graph::components(Csr<double>::from_triplets(2, 3, {{0, 1, 1}}))),
               InvalidMatrix);
}

}  // namespace
}  // namespace echelon

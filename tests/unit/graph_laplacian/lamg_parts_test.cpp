// SPDX-License-Identifier: BSD-3-Clause
/// Parts of lamg against their definitions: elimination, quotient graphs, affinity, energies, visits,
/// recombination and the coarsest solve.
#include "graph_laplacian/lamg/cycle.hpp"

#include <echelon/generate.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace echelon::lamg {
namespace {

using Rows = std::vector<std::vector<double>>;

Csr<double> laplacian(const std::string& family, const Options& options) {
  return std::get<Csr<double>>(make_matrix<double>(family, options));
}

Rows dense(const Graph<double>& graph) {
  const auto n = static_cast<std::size_t>(graph.n);
  Rows A(n, std::vector<double>(n));
  for (std::int32_t i = 0; i < graph.n; ++i) {
    A[static_cast<std::size_t>(i)][static_cast<std::size_t>(i)] = graph.degree[i];
    for (std::int32_t k = graph.offsets[i]; k < graph.offsets[i + 1]; ++k) {
      A[static_cast<std::size_t>(i)][static_cast<std::size_t>(graph.neighbours[k])] = -graph.weights[k];
    }
  }
  return A;
}

std::vector<double> product(const Rows& A, const std::vector<double>& x) {
  std::vector<double> y(A.size());
  for (std::size_t i = 0; i < A.size(); ++i) {
    for (std::size_t j = 0; j < A.size(); ++j) y[i] += A[i][j] * x[j];
  }
  return y;
}

std::vector<double> random_vector(std::size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<double> x(n);
  for (double& value : x) value = std::uniform_real_distribution<double>(-1, 1)(random);
  return x;
}

double largest(const std::vector<double>& x) {
  double result = 0;
  for (const double value : x) result = std::max(result, std::abs(value));
  return result;
}

/// The Schur complement that is left when the vertices are eliminated one after the other.
Rows schur_complement(Rows A, const EliminatedVertices<double>& elimination) {
  for (const std::int32_t vertex : elimination.vertices) {
    const auto f = static_cast<std::size_t>(vertex);
    const double pivot = A[f][f];
    for (std::size_t i = 0; i < A.size() && pivot > 0; ++i) {
      if (i == f) continue;
      const double ratio = A[i][f] / pivot;
      for (std::size_t j = 0; j < A.size(); ++j) {
        if (j != f) A[i][j] -= ratio * A[f][j];
      }
      A[i][f] = 0;
    }
    for (double& value : A[f]) value = 0;
  }
  Rows rest;
  for (const std::int32_t i : elimination.kept) {
    rest.emplace_back();
    for (const std::int32_t j : elimination.kept) {
      rest.back().push_back(A[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)]);
    }
  }
  return rest;
}

std::vector<Csr<double>> small_graphs() {
  std::vector<Csr<double>> graphs;
  for (const int seed : {1, 2, 3}) {
    graphs.push_back(laplacian("chimera", {{"n", 70}, {"seed", seed}, {"weights", "chimera"}}));
    graphs.push_back(laplacian("grown", {{"n", 60}, {"seed", seed}}));
    graphs.push_back(laplacian("erdos-renyi", {{"n", 65}, {"degree", 3}, {"seed", seed}}));
  }
  graphs.push_back(laplacian("grid-2d", {{"nx", 11}, {"ny", 9}}));
  return graphs;
}

TEST(LamgElimination, SmallGraphs_SchurComplement) {
  for (const Csr<double>& A : small_graphs()) {
    Graph<double> graph = graph_of(A);
    const Rows before = dense(graph);
    const EliminatedVertices<double> elimination = eliminate(graph);
    const Rows expected = schur_complement(before, elimination);
    const Rows rest = dense(graph);
    ASSERT_EQ(rest.size(), expected.size());
    EXPECT_FALSE(elimination.vertices.empty());
    for (std::size_t i = 0; i < rest.size(); ++i) {
      EXPECT_GT(graph.neighbours_of(static_cast<std::int32_t>(i)), 0);
      for (std::size_t j = 0; j < rest.size(); ++j) {
        EXPECT_NEAR(rest[i][j], expected[i][j], 1e-12 * (1 + expected[i][i]));
      }
    }
  }
}

TEST(LamgElimination, SolutionOfTheRest_SolvesAll) {
  for (const Csr<double>& A : small_graphs()) {
    Graph<double> graph = graph_of(A);
    const Rows before = dense(graph);
    std::vector<double> b = product(before, random_vector(before.size(), 5));
    const std::vector<double> right = b;
    const EliminatedVertices<double> elimination = eliminate(graph);
    std::vector<double> reduced(static_cast<std::size_t>(graph.n));
    elimination.restrict_to(b.data(), reduced.data());
    DenseLaplacianFactors<double>(graph).solve(reduced.data());
    std::vector<double> x(before.size());
    elimination.prolong(reduced.data(), b.data(), x.data());
    std::vector<double> residual = product(before, x);
    for (std::size_t i = 0; i < residual.size(); ++i) residual[i] -= right[i];
    EXPECT_LT(largest(residual), 1e-10 * largest(right));
  }
}

TEST(LamgElimination, Trees_DisappearExactly) {
  for (const std::string family : {"path", "star", "random-tree", "complete-binary-tree"}) {
    for (const int n : {1, 2, 3, 31, 1025}) {
      Graph<double> graph =
          graph_of(laplacian(family, {{"n", n}, {"weights", "log-uniform"}, {"decades", 24}}));
      const EliminatedVertices<double> elimination = eliminate(graph);
      EXPECT_EQ(graph.n, 0) << family << n;
      EXPECT_EQ(elimination.vertices.size(), static_cast<std::size_t>(n));
    }
  }
}

TEST(LamgGraph, Contraction_IsTheTripleProduct) {
  for (const Csr<double>& A : small_graphs()) {
    const Graph<double> graph = graph_of(A);
    std::mt19937_64 random(7);
    const std::int32_t count = 20;
    Array<std::int32_t> aggregate(Device(), graph.n);
    for (std::int32_t i = 0; i < graph.n; ++i) {
      aggregate[i] = i < count ? i : static_cast<std::int32_t>(random() % count);
    }
    const Rows fine = dense(graph);
    Rows expected(count, std::vector<double>(count));
    for (std::size_t i = 0; i < fine.size(); ++i) {
      for (std::size_t j = 0; j < fine.size(); ++j) {
        expected[static_cast<std::size_t>(aggregate[static_cast<std::int64_t>(i)])]
                [static_cast<std::size_t>(aggregate[static_cast<std::int64_t>(j)])] += fine[i][j];
      }
    }
    const Graph<double> quotient = contract(graph, aggregate, count);
    const Rows coarse = dense(quotient);
    for (std::size_t i = 0; i < coarse.size(); ++i) {
      for (std::size_t j = 0; j < coarse.size(); ++j) {
        EXPECT_NEAR(coarse[i][j], expected[i][j], 1e-12 * (1 + expected[i][i]));
      }
      const auto row = static_cast<std::int32_t>(i);
      for (std::int32_t k = quotient.offsets[row]; k < quotient.offsets[row + 1]; ++k) {
        EXPECT_EQ(quotient.neighbours[k] < row, k < quotient.middle[row]);
      }
    }
  }
}

TEST(LamgGraph, PositiveElements_AreNoEdges) {
  const std::vector<Triplet<double>> triplets = {{0, 0, 1}, {0, 1, -1}, {1, 0, -1}, {1, 1, 1},
                                                 {1, 2, 0}, {2, 1, 0},  {2, 2, 5}};
  const Graph<double> graph = graph_of(Csr<double>::from_triplets(3, 3, triplets));
  EXPECT_EQ(graph.ends(), 2);
  EXPECT_EQ(graph.neighbours_of(2), 0);
  EXPECT_EQ(graph.degree[1], 1);
}

/// The rows of a level's matrix, the diagonal included, sum to zero.
TEST(LamgHierarchy, EveryLevel_HasZeroRowSums) {
  for (const std::string weights : {"own", "chimera", "log-uniform"}) {
    const Csr<double> A = laplacian("chimera", {{"n", 20000}, {"seed", 4}, {"weights", weights}});
    const LamgHierarchy<double> hierarchy = make_hierarchy(graph_of(A), SetupOptions{}, {});
    EXPECT_GT(hierarchy.levels.size(), 3U);
    for (const Level<double>& level : hierarchy.levels) {
      std::vector<double> sums(static_cast<std::size_t>(level.matrix.n));
      for (std::int32_t i = 0; i < level.matrix.n; ++i) {
        for (std::int32_t k = level.matrix.offsets[i]; k < level.matrix.offsets[i + 1]; ++k) {
          EXPECT_GT(level.matrix.weights[k], 0);
          sums[static_cast<std::size_t>(i)] += level.matrix.weights[k];
          sums[static_cast<std::size_t>(level.matrix.neighbours[k])] += level.matrix.weights[k];
        }
      }
      for (std::int32_t i = 0; i < level.matrix.n; ++i) {
        EXPECT_NEAR(sums[static_cast<std::size_t>(i)] * level.matrix.inverse[i], 1, 1e-12);
      }
    }
  }
}

TEST(LamgAffinity, Definition) {
  const TestValues u = {1, 2, -3, 0.5F};
  const TestValues v = {-2, 1, 1, 4};
  const double product = -2 + 2 - 3 + 2;
  EXPECT_NEAR(affinity(u, v), product * product / (14.25 * 22), 1e-7);
  EXPECT_NEAR(affinity(u, {2, 4, -6, 1}), 1, 1e-6);
  EXPECT_EQ(affinity(u, {2, -1, 0, 0}), 0);
  EXPECT_EQ(affinity(u, {}), 1);
}

/// Energies of the star of vertex 0, for values of its own and the best one, against their definition.
TEST(LamgEnergy, Definition) {
  const Csr<double> A = laplacian("star", {{"n", 6}, {"weights", "uniform"}, {"seed", 3}});
  const Graph<double> graph = graph_of(A);
  std::mt19937_64 random(11);
  std::uniform_real_distribution<float> unit(-1, 1);
  int allowed = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Vector<TestValues> x(6);
    for (TestValues& values : x) {
      for (float& value : values) value = 1 + 0.5F * unit(random);
    }
    const TestValues at = x[1];
    double worst = 0;
    for (std::size_t k = 0; k < at.size(); ++k) {
      const auto energy = [&](double y) {
        double sum = 0;
        for (std::int32_t e = 0; e < graph.offsets[1]; ++e) {
          const double difference = y - double{x[static_cast<std::size_t>(graph.neighbours[e])][k]};
          sum += graph.weights[e] * difference * difference / 2;
        }
        return sum;
      };
      double best = 0;
      for (std::int32_t e = 0; e < graph.offsets[1]; ++e) {
        best +=
            graph.weights[e] / graph.degree[0] * double{x[static_cast<std::size_t>(graph.neighbours[e])][k]};
      }
      worst = std::max(worst, energy(at[k]) / energy(best));
    }
    if (std::abs(worst - 2.5) < 1e-3) continue;
    EXPECT_EQ(energy_allows(graph, x, 0, at, 2.5), worst < 2.5) << worst;
    allowed += worst < 2.5 ? 1 : 0;
  }
  EXPECT_GT(allowed, 20);
  EXPECT_LT(allowed, 380);
}

TEST(LamgAggregation, Hub_TakesMembersAndJoinsNone) {
  const Graph<double> graph = graph_of(laplacian("star", {{"n", 200}}));
  TestVectors vectors = make_test_vectors(graph, 4, 1);
  const VertexAggregates aggregates = aggregate(graph, vectors, AggregationThresholds{});
  EXPECT_EQ(aggregates.of[0], 0);
  EXPECT_LT(aggregates.count, 100);
}

TEST(LamgAggregation, WeakEdges_AreNotJoined) {
  // Pairs of vertices: weights 1 within, 1e-3 from pair to pair.
  std::vector<Triplet<double>> triplets;
  const std::int32_t n = 400;
  for (std::int32_t i = 0; i + 1 < n; ++i) {
    const double weight = i % 2 == 0 ? 1 : 1e-3;
    triplets.insert(triplets.end(),
                    {{i, i, weight}, {i + 1, i + 1, weight}, {i, i + 1, -weight}, {i + 1, i, -weight}});
  }
  const Graph<double> graph = graph_of(Csr<double>::from_triplets(n, n, triplets));
  TestVectors vectors = make_test_vectors(graph, 4, 1);
  const VertexAggregates aggregates = aggregate(graph, vectors, AggregationThresholds{});
  ASSERT_EQ(aggregates.count, n / 2);
  for (std::int32_t i = 0; i < n; i += 2) EXPECT_EQ(aggregates.of[i], aggregates.of[i + 1]);
}

TEST(LamgInterpolation, PathWithLinearTestVectors_FittedShares) {
  const std::int32_t n = 31;  // aggregates of three vertices, whose middle one is the seed; the last has one
  const Graph<double> graph = graph_of(laplacian("path", {{"n", n}}));
  VertexAggregates aggregates{Array<std::int32_t>(Device(), n), 11, Array<std::int32_t>(Device(), 11)};
  Vector<TestValues> x(static_cast<std::size_t>(n));
  for (std::int32_t i = 0; i < n; ++i) {
    aggregates.of[i] = i / 3;
    if (i % 3 == 1) aggregates.seeds[i / 3] = i;
    const auto place = static_cast<float>(i);
    x[static_cast<std::size_t>(i)] = {place, 2 * place, -place, 1 - place};
  }
  aggregates.seeds[10] = 30;
  const Interpolation<double> P = interpolate(graph, x, aggregates);
  for (std::int32_t i = 0; i < n; ++i) {
    const bool is_between = i != 0 && i != 30 && i % 3 != 1;
    const double expected = i == 29 ? 0.5 : is_between ? 1.0 / 3 : 0;
    EXPECT_NEAR(P.share[i], expected, 1e-6) << i;
    EXPECT_EQ(P.second[i], is_between ? i / 3 + (i % 3 == 0 ? -1 : 1) : i / 3) << i;
  }
}

/// Random prolongations with two elements in most rows.
TEST(LamgInterpolation, GalerkinGraph_PositivePartOfTheTripleProduct) {
  std::mt19937_64 random(7);
  for (const Csr<double>& A : small_graphs()) {
    const Graph<double> graph = graph_of(A);
    const std::int32_t count = 20;
    VertexAggregates aggregates{Array<std::int32_t>(Device(), graph.n), count};
    Interpolation<double> P{Array<std::int32_t>(Device(), graph.n), Array<double>(Device(), graph.n)};
    const Rows fine = dense(graph);
    Rows prolongation(fine.size(), std::vector<double>(count));
    for (std::int32_t i = 0; i < graph.n; ++i) {
      aggregates.of[i] = i < count ? i : static_cast<std::int32_t>(random() % count);
      P.second[i] = static_cast<std::int32_t>(random() % count);
      P.share[i] = i % 3 == 0 ? 0 : std::uniform_real_distribution<double>(0, 1)(random);
      auto& row = prolongation[static_cast<std::size_t>(i)];
      row[static_cast<std::size_t>(aggregates.of[i])] += 1 - P.share[i];
      row[static_cast<std::size_t>(P.second[i])] += P.share[i];
    }
    const Rows coarse = dense(galerkin_graph(graph, aggregates, P));
    for (std::size_t a = 0; a < count; ++a) {
      double sum = 0;
      for (std::size_t b = 0; b < count; ++b) {
        sum += coarse[a][b];
        if (a == b) continue;
        double expected = 0;
        for (std::size_t i = 0; i < fine.size(); ++i) {
          for (std::size_t j = 0; j < fine.size(); ++j) {
            expected += prolongation[i][a] * fine[i][j] * prolongation[j][b];
          }
        }
        EXPECT_NEAR(coarse[a][b], std::min(expected, 0.0), 1e-11 * (1 + coarse[a][a]));
        EXPECT_EQ(coarse[a][b], coarse[b][a]);
      }
      EXPECT_NEAR(sum, 0, 1e-12 * (1 + coarse[a][a]));
    }
  }
}

TEST(LamgCycle, RealValuedIndex_VisitsOfTheLevels) {
  VisitCounter visits(8);
  visits.start();
  const std::size_t coarsest = 8;
  std::int64_t solves = 0;
  std::size_t l = 0;
  for (;;) {
    if (l == coarsest) {
      ++solves;
      --l;
    } else if (visits.descend(l, 1.5)) {
      ++l;
    } else if (l == 0) {
      break;
    } else {
      --l;
    }
  }
  EXPECT_EQ(visits.descents(), (std::vector<std::int64_t>{1, 2, 3, 5, 8, 12, 18, 27}));
  EXPECT_EQ(solves, 27);
}

TEST(LamgRecombination, Residual_IsOrthogonalToDifferences) {
  const std::size_t n = 50;
  for (const std::size_t kept : {1, 2, 3, 4, 6}) {
    Recombination<double> recombination(n, 4);
    std::vector<std::vector<double>> residuals;
    std::vector<Cell<double>> cells(n);
    std::vector<double> x;
    for (unsigned k = 0; k <= kept; ++k) {
      // A x + r is the same vector for every iterate, here with A = 2 I.
      x = random_vector(n, 100 + k);
      for (std::size_t i = 0; i < n; ++i) cells[i].residual = 1 - 2 * x[i];
      if (k == kept) break;
      recombination.save(x.data(), cells.data());
      residuals.emplace_back();
      for (const auto& cell : cells) residuals.back().push_back(cell.residual);
    }
    recombination.minimise(x.data(), cells.data());
    for (std::size_t i = 0; i < n; ++i) EXPECT_NEAR(cells[i].residual, 1 - 2 * x[i], 1e-12);
    for (std::size_t k = kept - std::min<std::size_t>(kept, 4); k < kept; ++k) {
      double product = 0;
      for (std::size_t i = 0; i < n; ++i) {
        product += (cells[i].residual - residuals[k][i]) * cells[i].residual;
      }
      EXPECT_NEAR(product, 0, 1e-11) << kept << " " << k;
    }
  }
}

TEST(LamgRecombination, EqualIterates_ChangeNothing) {
  Recombination<double> recombination(3, 4);
  std::vector<double> x = {1, 2, 3};
  std::vector<Cell<double>> cells = {{1, 0}, {-1, 0}, {2, 0}};
  for (int k = 0; k < 4; ++k) recombination.save(x.data(), cells.data());
  recombination.minimise(x.data(), cells.data());
  EXPECT_EQ(x, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(cells[2].residual, 2);
}

TEST(LamgDenseElimination, WeightsOf24Decades_AccurateElementByElement) {
  // A path of resistors: the potential differences are those of the resistances.
  std::vector<Triplet<double>> triplets;
  const std::int32_t n = 25;
  std::vector<double> resistance;
  for (std::int32_t i = 0; i + 1 < n; ++i) {
    const double weight = std::pow(10.0, (i * 7) % 25 - 12);
    resistance.push_back(1 / weight);
    triplets.insert(triplets.end(),
                    {{i, i, weight}, {i + 1, i + 1, weight}, {i, i + 1, -weight}, {i + 1, i, -weight}});
  }
  const DenseLaplacianFactors<double> factors(graph_of(Csr<double>::from_triplets(n, n, triplets)));
  std::vector<double> x(n);
  x.front() = 1;
  x.back() = -1;
  factors.solve(x.data());
  double sum = 0;
  for (const double r : resistance) sum += r;
  EXPECT_NEAR((x.front() - x.back()) / sum, 1, 1e-14);
  EXPECT_EQ(factors.components(), 1);
}

TEST(LamgDenseElimination, Components_EachHasItsOwnConstant) {
  std::vector<Triplet<double>> triplets = {{6, 6, 0}};
  for (const std::int32_t first : {0, 3}) {
    for (std::int32_t i = first; i < first + 3; ++i) {
      triplets.push_back({i, i, 2});
      for (std::int32_t j = first; j < first + 3; ++j) {
        if (i != j) triplets.push_back({i, j, -1});
      }
    }
  }
  const DenseLaplacianFactors<double> factors(graph_of(Csr<double>::from_triplets(7, 7, triplets)));
  EXPECT_EQ(factors.components(), 3);
  std::vector<double> x = {3, -3, 0, 0, 6, -6, 0};
  factors.solve(x.data());
  EXPECT_NEAR(x[0] - x[1], 2, 1e-15);
  EXPECT_NEAR(x[4] - x[5], 4, 1e-15);
  EXPECT_EQ(x[6], 0);
}

}  // namespace
}  // namespace echelon::lamg

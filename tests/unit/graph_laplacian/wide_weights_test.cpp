// SPDX-License-Identifier: BSD-3-Clause
// Effective resistances of graphs whose weights lie many decades apart.
#include "graph_laplacian/analysis/elimination.hpp"

#include <echelon/generate.hpp>
#include <echelon/graph/analysis.hpp>
#include <echelon/matrix/csr.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace echelon {
namespace {

__extension__ using Quad = __float128;  // 34 digits

using Edges = std::vector<Triplet<double>>;

struct Network {
  std::string name;
  std::int32_t vertices;
  Edges edges;
  [[nodiscard]] Csr<double> laplacian() const {
    std::vector<Triplet<double>> triplets;
    for (const auto& [i, j, w] : edges) {
      triplets.insert(triplets.end(), {{i, j, -w}, {j, i, -w}, {i, i, w}, {j, j, w}});
    }
    return Csr<double>::from_triplets(vertices, vertices, triplets);
  }
};

/// Resistances of a connected network by the inverse of L without its last row and column, in quadruple
/// precision.
class Oracle {
 public:
  explicit Oracle(const Network& network) : n_(static_cast<std::size_t>(network.vertices)), a_(n_ * n_, 0) {
    std::vector<Quad> L(n_ * n_, 0);
    for (const auto& [row, column, w] : network.edges) {
      const auto i = static_cast<std::size_t>(row);
      const auto j = static_cast<std::size_t>(column);
      L[i * n_ + i] += w;
      L[j * n_ + j] += w;
      L[i * n_ + j] -= w;
      L[j * n_ + i] -= w;
    }
    for (std::size_t i = 0; i + 1 < n_; ++i) a_[i * n_ + i] = 1;
    for (std::size_t k = 0; k + 1 < n_; ++k) {
      const Quad pivot = L[k * n_ + k];
      for (std::size_t i = 0; i + 1 < n_; ++i) {
        if (i == k || L[i * n_ + k] == 0) continue;
        const Quad factor = L[i * n_ + k] / pivot;
        for (std::size_t j = k + 1; j + 1 < n_; ++j) L[i * n_ + j] -= factor * L[k * n_ + j];
        for (std::size_t j = 0; j <= k; ++j) a_[i * n_ + j] -= factor * a_[k * n_ + j];
      }
    }
    for (std::size_t i = 0; i + 1 < n_; ++i) {
      for (std::size_t j = 0; j + 1 < n_; ++j) a_[i * n_ + j] /= L[i * n_ + i];
    }
  }
  [[nodiscard]] double resistance(std::int32_t u, std::int32_t v) const {
    return static_cast<double>(at(u, u) + at(v, v) - at(u, v) - at(v, u));
  }

 private:
  [[nodiscard]] Quad at(std::int32_t i, std::int32_t j) const {
    return a_[static_cast<std::size_t>(i) * n_ + static_cast<std::size_t>(j)];
  }
  std::size_t n_;
  std::vector<Quad> a_;
};

/// Networks of all shapes with weights of up to the given decades: each weight for itself, and those of a
/// raster of cells.
std::vector<Network> networks(double decades, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> exponent(-decades / 2, decades / 2);
  std::vector<Network> result;
  const auto add = [&](const std::string& name, const std::string& generator, const Options& options) {
    const auto A = std::get<Csr<double>>(make_matrix<double>(generator, options));
    for (const bool raster : {false, true}) {
      std::vector<double> cells;
      for (std::int64_t i = 0; i < A.rows(); ++i) cells.push_back(std::pow(10, exponent(random)));
      Network network{name, static_cast<std::int32_t>(A.rows()), {}};
      for (std::int32_t i = 0; i < A.rows(); ++i) {
        for (std::int64_t k = A.row_offsets()[i]; k < A.row_offsets()[i + 1]; ++k) {
          const std::int32_t j = A.column_indices()[k];
          const double a = cells[static_cast<std::size_t>(i)];
          const double b = cells[static_cast<std::size_t>(j)];
          if (j > i)
            network.edges.push_back({i, j, raster ? 2 * a * b / (a + b) : std::pow(10, exponent(random))});
        }
      }
      result.push_back(std::move(network));
    }
  };
  add("grid", "grid-2d", {{"nx", 7}, {"ny", 6}});
  add("path", "path", {{"n", 50}});
  add("ring", "ring", {{"n", 41}});
  add("star", "star", {{"n", 33}});
  add("complete", "complete", {{"n", 34}});
  add("chimera", "chimera", {{"n", 60}, {"seed", 3}});
  return result;
}

TEST(WideWeights, Edges_RightToRounding) {
  for (const double decades : {0.0, 8.0, 10.0, 12.0, 14.0, 16.0}) {
    for (const Network& network : networks(decades, 1)) {
      const Csr<double> L = network.laplacian();
      const graph::EdgeResistances result = graph::edge_resistances(L);
      const Oracle oracle(network);
      EXPECT_TRUE(result.report.solved()) << result.report.message;
      EXPECT_NEAR(result.foster_sum / static_cast<double>(result.foster_rank), 1, 1e-13);
      for (const graph::EdgeResistance& edge : result.edges) {
        EXPECT_NEAR(edge.resistance / oracle.resistance(edge.first, edge.second), 1, 1e-13)
            << network.name << ' ' << decades << ' ' << edge.first << ' ' << edge.second;
      }
    }
  }
}

TEST(WideWeights, Pairs_RightToOneMillionth) {
  for (const double decades : {0.0, 8.0, 12.0, 16.0}) {
    for (const Network& network : networks(decades, 2)) {
      std::vector<graph::Pair> some;
      std::vector<graph::Pair> all;
      for (std::int32_t u = 0; u < network.vertices; ++u) {
        if (u % 8 == 0) some.push_back({u, network.vertices - 1 - u});
        for (std::int32_t v = 0; v < u && u < 12; ++v) all.push_back({u, v});
      }
      const Oracle oracle(network);
      for (const auto& pairs : {some, all}) {
        const graph::Resistances result = graph::resistances(network.laplacian(), pairs);
        EXPECT_TRUE(result.report.solved()) << result.report.message;
        for (std::size_t p = 0; p < pairs.size(); ++p) {
          const auto [u, v] = pairs[p];
          if (u == v) continue;
          EXPECT_NEAR(result.values[p] / oracle.resistance(u, v), 1, 1e-6)
              << network.name << ' ' << decades << ' ' << u << ' ' << v;
        }
      }
    }
  }
}

TEST(WideWeights, Series_AreTheirSums) {
  // A path of 300 decades and repeated pairs.
  Network path{"path", 31, {}};
  for (std::int32_t i = 0; i < 30; ++i) path.edges.push_back({i, i + 1, std::pow(10.0, 150 - 10 * i)});
  const std::vector<graph::Pair> pairs = {{0, 30}, {30, 0}, {3, 4}, {4, 3}, {0, 30}, {10, 12}};
  const graph::Resistances result = graph::resistances(path.laplacian(), pairs);
  EXPECT_EQ(result.report.method, "elimination");
  const std::vector<double> expected = {1e140, 1e140, 1e-120, 1e-120, 1e140, 1e-40};
  for (std::size_t p = 0; p < pairs.size(); ++p) EXPECT_NEAR(result.values[p] / expected[p], 1, 2e-10) << p;
}

TEST(WideWeights, SolvesThatAreInaccurate_Reported) {
  // A grid of weight 1, of which 2 by 2 blocks are joined to the others by weights of 1e-12.
  Network network{"blocks", 36, {}};
  for (std::int32_t i = 0; i < 36; ++i) {
    const std::int32_t x = i % 6;
    const std::int32_t y = i / 6;
    if (x < 5) network.edges.push_back({i, i + 1, x % 2 == 0 ? 1 : 1e-12});
    if (y < 5) network.edges.push_back({i, i + 6, y % 2 == 0 ? 1 : 1e-12});
  }
  const Csr<double> L = network.laplacian();
  const graph::EdgeResistances solved =
      graph::edge_resistances(L, {.solve = {.method = "approximate-cholesky"}});
  const Oracle oracle(network);
  double worst = 0;
  for (const graph::EdgeResistance& edge : solved.edges) {
    worst = std::max(worst, std::abs(edge.resistance / oracle.resistance(edge.first, edge.second) - 1));
  }
  EXPECT_GT(worst, 1e-5);
  EXPECT_FALSE(solved.report.solved());
  EXPECT_FALSE(solved.report.message.empty());
  EXPECT_TRUE(graph::edge_resistances(L).report.solved());
}

TEST(WideWeights, LargerGraphs_MeetFoster) {
  // Graphs that sparse eliminations reduce, with many components, hubs, and dense remainders.
  const std::vector<std::pair<std::string, Options>> families = {
      {"grid-2d", {{"nx", 33}, {"ny", 31}}},           {"star", {{"n", 1025}}},
      {"erdos-renyi", {{"n", 1000}, {"degree", 1.5}}}, {"erdos-renyi", {{"n", 300}, {"degree", 12.0}}},
      {"chimera", {{"n", 1000}, {"seed", 5}}},
  };
  for (const auto& [family, options] : families) {
    const graph::EdgeResistances result =
        graph::edge_resistances(std::get<Csr<double>>(make_matrix<double>(family, options)));
    EXPECT_EQ(result.report.method, "elimination");
    EXPECT_NEAR(result.foster_sum / static_cast<double>(result.foster_rank), 1, 1e-12) << family;
    for (const graph::EdgeResistance& edge : result.edges) {
      EXPECT_GT(edge.resistance, 0);
      EXPECT_LE(edge.weight * edge.resistance, 1 + 1e-12);
    }
  }
}

TEST(ResistancesByElimination, Threads_SameBits) {
  const auto L = std::get<Csr<double>>(make_matrix<double>("grid-2d", {{"nx", 20}, {"ny", 20}}));
  std::vector<graph::Pair> pairs;
  for (std::int32_t v = 1; v < 400; ++v) pairs.push_back({v - 1, v});
  const auto serial = graph::resistances_by_elimination(L, pairs, {.device = Device::serial()}, INT64_MAX);
  const auto parallel = graph::resistances_by_elimination(L, pairs, {.device = Device::openmp(4)}, INT64_MAX);
  ASSERT_TRUE(serial.has_value());
  EXPECT_EQ(serial, parallel);
}

TEST(ResistancesByElimination, LimitsAndCancel_GiveUp) {
  const auto L = std::get<Csr<double>>(make_matrix<double>("grid-2d", {{"nx", 20}, {"ny", 20}}));
  const std::vector<graph::Pair> pairs = {{0, 399}, {17, 4}};
  EXPECT_TRUE(graph::resistances_by_elimination(L, pairs, {}, 10'000'000).has_value());
  EXPECT_FALSE(graph::resistances_by_elimination(L, pairs, {}, 1000).has_value());
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(
      graph::resistances_by_elimination(L, pairs, {.cancel = stop.get_token()}, INT64_MAX).has_value());
}

TEST(WideWeights, GraphsWithoutEdges_HaveNoResistances) {
  for (const std::int32_t n : {0, 1, 31}) {
    const Csr<double> L = Csr<double>::from_triplets(n, n, {});
    for (const double error : {0.0, 0.5}) {
      const graph::EdgeResistances result = graph::edge_resistances(L, {.error = error});
      EXPECT_TRUE(result.edges.empty());
      EXPECT_EQ(result.foster_sum, 0);
      EXPECT_EQ(result.foster_rank, 0);
      EXPECT_TRUE(result.report.solved()) << result.report.message;
    }
  }
}

}  // namespace
}  // namespace echelon

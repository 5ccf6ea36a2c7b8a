// SPDX-License-Identifier: BSD-3-Clause
/// Aggregates, tentative prolongations and filtered matrices, against brute force.
#include "multigrid/coarsening/aggregation/aggregation.hpp"

#include "backend/host/host.hpp"
#include "multigrid/coarsening/aggregation/aggregates.hpp"
#include "multigrid/coarsening/aggregation/filter.hpp"
#include "multigrid/coarsening/aggregation/node_matrix.hpp"
#include "multigrid/coarsening/aggregation/tentative.hpp"

#include <echelon/generate.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/transform.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

namespace echelon::test {
namespace {

using namespace multigrid;
using namespace multigrid::aggregation;

/// The nodes at most `distance` edges from i.
std::set<std::int32_t> ball(const NodeGraph& graph, std::int32_t i, int distance) {
  std::set<std::int32_t> nodes = {i};
  for (int d = 0; d < distance; ++d) {
    std::set<std::int32_t> next = nodes;
    for (const std::int32_t node : nodes) {
      for (std::int64_t k = graph.offsets[node]; k < graph.offsets[node + 1]; ++k) {
        next.insert(graph.neighbours[k]);
      }
    }
    nodes = next;
  }
  return nodes;
}

std::vector<Csr<double>> graphs() {
  std::vector<Csr<double>> list;
  list.push_back(generate::poisson_2d<double>(1, 1));
  list.push_back(generate::poisson_2d<double>(17, 1));
  list.push_back(generate::poisson_2d<double>(33, 31));
  list.push_back(generate::poisson_3d<double>(9, 10, 11, 27));
  for (const std::uint64_t seed : {1, 2, 3}) {
    list.push_back(generate::random_spd<double>(1025, 0.003, 1.1, seed));
  }
  list.push_back(Csr<double>::from_triplets(3, 3, {{0, 0, 1}, {2, 2, 1}}));  // isolated nodes
  return list;
}

TEST(IndependentSet, IsIndependentAndMaximal) {
  for (const Csr<double>& A : graphs()) {
    Host backend{Device::serial()};
    const NodeGraph graph = strong_connections(backend, A, 0);
    const std::int64_t n = A.rows();
    Array<std::int32_t> candidates(Device(), n);
    for (std::int64_t i = 0; i < n; ++i) candidates[i] = static_cast<std::int32_t>(i);
    std::vector<std::uint64_t> keys(static_cast<std::size_t>(n), other_key);
    find_independent_set(backend, graph, candidates, n, keys.data());
    for (std::int32_t i = 0; i < n; ++i) {
      int roots = 0;
      for (const std::int32_t j : ball(graph, i, 2))
        roots += keys[static_cast<std::size_t>(j)] == root_key ? 1 : 0;
      if (keys[static_cast<std::size_t>(i)] == root_key) {
        EXPECT_EQ(roots, 1) << "roots are more than two edges apart";
      } else {
        EXPECT_GE(roots, 1) << "every node is at most two edges from a root";
      }
    }
  }
}

TEST(Aggregates, Aggregates_ConnectedAndComplete) {
  for (const Csr<double>& A : graphs()) {
    for (const bool fill_gaps : {false, true}) {
      Host backend{Device::serial()};
      const NodeGraph graph = strong_connections(backend, A, 0);
      const Aggregates aggregates = aggregate(backend, graph, fill_gaps);
      std::set<std::int32_t> used;
      for (std::int32_t i = 0; i < A.rows(); ++i) {
        const std::int32_t own = aggregates.of_node[i];
        const bool isolated = graph.offsets[i + 1] - graph.offsets[i] == 1;
        EXPECT_EQ(own == no_aggregate, isolated);
        if (isolated) continue;
        EXPECT_LT(own, aggregates.count);
        used.insert(own);
        int together = 0;
        for (const std::int32_t j : ball(graph, i, 1)) together += aggregates.of_node[j] == own ? 1 : 0;
        EXPECT_GE(together, 2) << "a node has a neighbour in its aggregate";
      }
      EXPECT_EQ(static_cast<std::int64_t>(used.size()), aggregates.count);
    }
  }
}

TEST(Aggregates, AnyNumberOfThreads_SameResult) {
  const Csr<double> A = generate::poisson_3d<double>(40, 41, 42);
  Host serial{Device::serial()};
  const Aggregates expected = aggregate(serial, strong_connections(serial, A, 0), true);
  for (const int threads : {1, 2, 4}) {
    Host backend{Device::openmp(threads)};
    const Aggregates got = aggregate(backend, strong_connections(backend, A, 0), true);
    ASSERT_EQ(got.count, expected.count);
    EXPECT_EQ(got.of_node.to_vector(), expected.of_node.to_vector());
  }
}

TEST(StrongConnections, FollowTheDefinition) {
  const Csr<double> A = generate::random_spd<double>(257, 0.05, 1.1, 5);
  const Dense<double> dense = to_dense(MatrixRef<double>(A));
  constexpr double threshold = 0.3;
  Host backend{Device::serial()};
  const NodeGraph graph = strong_connections(backend, A, threshold);
  const auto largest = [&](std::int64_t i) {
    double value = 0;
    for (std::int64_t j = 0; j < A.rows(); ++j) {
      if (j != i) value = std::max(value, std::fabs(dense(i, j)));
    }
    return value;
  };
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    std::vector<std::int32_t> expected;
    for (std::int64_t j = 0; j < A.rows(); ++j) {
      const double bound = threshold * std::sqrt(largest(i)) * std::sqrt(largest(j));
      if (j == i || (dense(i, j) != 0 && std::fabs(dense(i, j)) >= bound)) {
        expected.push_back(static_cast<std::int32_t>(j));
      }
    }
    const auto* const begin = graph.neighbours.data();
    EXPECT_EQ(std::vector<std::int32_t>(begin + graph.offsets[i], begin + graph.offsets[i + 1]), expected);
  }
}

TEST(FilteredMatrix, RowSums_KeptUnlessDiagonalVanishes) {
  // Row 0: dropping -3.5 would leave 0.5 of the diagonal 4, less than a quarter.
  const Csr<double> A = Csr<double>::from_triplets(
      3, 3,
      {{0, 0, 4}, {0, 1, -0.5}, {0, 2, -3.5}, {1, 0, -0.5}, {1, 1, 2}, {1, 2, -1}, {2, 1, -1}, {2, 2, 3}});
  NodeGraph graph{3, Array<std::int64_t>{0, 2, 4, 5}, Array<std::int32_t>{0, 1, 0, 1, 2}};
  Host backend{Device::serial()};
  const Dense<double> filtered = to_dense(MatrixRef<double>(filtered_matrix(backend, A, 1, graph)));
  EXPECT_EQ(filtered(0, 0), 4);
  EXPECT_EQ(filtered(0, 1), -0.5);
  EXPECT_EQ(filtered(0, 2), 0);
  EXPECT_EQ(filtered(1, 1), 1);
  EXPECT_EQ(filtered(1, 0), -0.5);
  EXPECT_EQ(filtered(2, 2), 2);
}

TEST(NodeMatrix, HoldsTheNormsOfBlocks) {
  const Csr<double> A = generate::random_sparse<double>(36, 36, 0.1, generate::Distribution::normal, 3);
  const Dense<double> dense = to_dense(MatrixRef<double>(A));
  for (const std::int64_t block : {2, 3, 4}) {
    Host backend{Device::serial()};
    const Dense<double> nodes = to_dense(MatrixRef<double>(node_matrix(backend, A, block)));
    ASSERT_EQ(nodes.rows(), 36 / block);
    for (std::int64_t i = 0; i < nodes.rows(); ++i) {
      for (std::int64_t j = 0; j < nodes.rows(); ++j) {
        double squares = 0;
        for (std::int64_t r = 0; r < block; ++r) {
          for (std::int64_t c = 0; c < block; ++c)
            squares += std::pow(dense(i * block + r, j * block + c), 2);
        }
        EXPECT_NEAR(nodes(i, j), std::sqrt(squares), 1e-14);
      }
    }
  }
}

/// Vectors, one of them twice, on aggregates of 1 to 8 nodes of 2 rows.
TEST(Tentative, Vectors_ReproducedByOrthonormalColumns) {
  constexpr std::int64_t nodes = 40;
  constexpr std::int64_t modes = 4;
  std::mt19937_64 random(7);
  Aggregates aggregates{8, Array<std::int32_t>(Device(), nodes)};
  for (std::int64_t i = 0; i < nodes; ++i) {
    aggregates.of_node[i] =
        i == 11 ? no_aggregate : static_cast<std::int32_t>(std::min<std::int64_t>(i * i / 40, 7));
  }
  Dense<double> vectors(Device(), 2 * nodes, modes);
  for (std::int64_t i = 0; i < 2 * nodes; ++i) {
    for (std::int64_t c = 0; c < modes; ++c) vectors(i, c) = std::normal_distribution<double>()(random);
    vectors(i, 2) = 3 * vectors(i, 0) - vectors(i, 1);
  }
  Host backend{Device::serial()};
  const Tentative<double> tentative = tentative_prolongation(backend, 2 * nodes, 2, aggregates, vectors);
  const Dense<double> P = to_dense(MatrixRef<double>(tentative.P));
  ASSERT_EQ(P.columns(), 8 * modes);
  for (std::int64_t i = 0; i < 2 * nodes; ++i) {
    for (std::int64_t c = 0; c < modes; ++c) {
      double sum = 0;
      for (std::int64_t j = 0; j < P.columns(); ++j) sum += P(i, j) * tentative.vectors(j, c);
      EXPECT_NEAR(sum, i / 2 == 11 ? 0 : vectors(i, c), 1e-12);
    }
  }
  for (std::int64_t a = 0; a < P.columns(); ++a) {
    for (std::int64_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (std::int64_t i = 0; i < P.rows(); ++i) sum += P(i, a) * P(i, b);
      if (a != b) {
        EXPECT_NEAR(sum, 0, 1e-12);
      } else if (a % modes == 2) {
        EXPECT_EQ(sum, 0) << "a dependent column is zero";
      } else {
        EXPECT_TRUE(std::fabs(sum - 1) < 1e-12 || sum == 0);
      }
    }
  }
}

TEST(SmoothedAggregation, Interior_ConstantsAreKept) {
  const std::int64_t side = 24;
  const Csr<double> A = generate::poisson_2d<double>(side, side);
  const auto coarsening = make_aggregation<HostTarget, double>(Device(), {}, Dense<double>(Device(), 0, 0));
  std::string reason;
  const Csr<double> P = coarsening->prolongation(A, 0, reason);
  EXPECT_LT(P.columns(), A.rows() / 4);
  for (std::int64_t y = 1; y + 1 < side; ++y) {
    for (std::int64_t x = 1; x + 1 < side; ++x) {
      double sum = 0;
      for (std::int64_t k = P.row_offsets()[y * side + x]; k < P.row_offsets()[y * side + x + 1]; ++k) {
        sum += P.values()[k];
      }
      EXPECT_NEAR(sum, 1, 1e-14);
    }
  }
}

}  // namespace
}  // namespace echelon::test

// SPDX-License-Identifier: BSD-3-Clause
// Ranks of sparse matrices that rounding errors leave open, known from the structure of the matrices.
#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace echelon::test {
namespace {

using Edges = std::vector<std::pair<std::int32_t, std::int32_t>>;

Edges edges_of(std::int32_t n, const std::function<bool(std::int32_t, std::int32_t)>& joined) {
  Edges edges;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = i + 1; j < n; ++j) {
      if (joined(i, j)) edges.emplace_back(i, j);
    }
  }
  return edges;
}

/// Laplacian of a connected graph, of rank n - 1.
Csr<double> laplacian(std::int32_t n, const Edges& edges) {
  std::vector<double> degree(static_cast<std::size_t>(n), 0);
  std::vector<Triplet<double>> triplets;
  for (const auto& [i, j] : edges) {
    triplets.push_back({i, j, -1});
    triplets.push_back({j, i, -1});
    degree[static_cast<std::size_t>(i)] += 1;
    degree[static_cast<std::size_t>(j)] += 1;
  }
  for (std::int32_t i = 0; i < n; ++i) triplets.push_back({i, i, degree[static_cast<std::size_t>(i)]});
  return Csr<double>::from_triplets(n, n, triplets);
}

Csr<double> complete(std::int32_t n) {
  return laplacian(n, edges_of(n, [](auto, auto) { return true; }));
}
Csr<double> bipartite(std::int32_t n) {
  return laplacian(n, edges_of(n, [n](auto i, auto j) { return i < n / 2 && j >= n / 2; }));
}
Csr<double> star(std::int32_t n) {
  return laplacian(n, edges_of(n, [](auto i, auto) { return i == 0; }));
}
Csr<double> wheel(std::int32_t n) {
  return laplacian(
      n, edges_of(n, [n](auto i, auto j) { return i == 0 || j == i + 1 || (i == 1 && j == n - 1); }));
}

void expect_rank(const Csr<double>& A, std::int64_t rank) {
  MappedEchelon<double> mapped(Device::serial());
  const Report report = mapped.setup(A);
  EXPECT_EQ(report.rank, rank) << "mapped-echelon: " << report.message;
  EXPECT_NE(report.find_statistic("proven"), nullptr);
  EXPECT_EQ(report.find_statistic("doubtful"), nullptr);
  for (const LuFactorization factorization :
       {LuFactorization::automatic, LuFactorization::multifrontal, LuFactorization::left_looking}) {
    SparseLu<double> lu(Device::serial(), {.factorization = factorization});
    const Report factored = lu.factor(A);
    EXPECT_EQ(factored.rank, rank) << to_string(factorization) << ": " << factored.message;
    ASSERT_NE(factored.find_statistic("rank_certainty"), nullptr);
    EXPECT_NE(to_string(*factored.find_statistic("rank_certainty")).find("proven"), std::string::npos);
  }
}

TEST(SparseExactRanks, LaplaciansOfConnectedGraphs_LackOne) {
  for (std::int32_t n = 6; n <= 62; n += 8) {
    SCOPED_TRACE(n);
    expect_rank(complete(n), n - 1);
    expect_rank(bipartite(n), n - 1);
    expect_rank(star(3 * n), 3 * n - 1);
    expect_rank(wheel(n), n - 1);
  }
}

/// -1 above a diagonal of ones: the smallest singular value is about 2^-n.
TEST(SparseExactRanks, Triangles_AreRegular) {
  for (const std::int32_t n : {20, 60, 100}) {
    std::vector<Triplet<double>> upper;
    std::vector<Triplet<double>> lower;
    for (std::int32_t i = 0; i < n; ++i) {
      for (std::int32_t j = i; j < n; ++j) {
        upper.push_back({i, j, i == j ? 1.0 : -1.0});
        lower.push_back({j, i, i == j ? 1.0 : -1.0});
      }
    }
    for (const auto& triplets : {upper, lower}) {
      const Csr<double> A = Csr<double>::from_triplets(n, n, triplets);
      MappedEchelon<double> mapped(Device::serial());
      const Report report = mapped.setup(A);
      EXPECT_EQ(report.rank, n);
      EXPECT_NE(report.find_statistic("proven"), nullptr);
    }
  }
}

/// Binomial coefficients, of determinant 1.
TEST(SparseExactRanks, PascalMatrices_AreRegular) {
  for (const std::int32_t n : {10, 16, 20, 24}) {
    SCOPED_TRACE(n);
    std::vector<std::vector<double>> pascal(static_cast<std::size_t>(n),
                                            std::vector<double>(static_cast<std::size_t>(n), 1));
    std::vector<Triplet<double>> triplets;
    for (std::int32_t i = 0; i < n; ++i) {
      for (std::int32_t j = 0; j < n; ++j) {
        auto& row = pascal[static_cast<std::size_t>(i)];
        if (i > 0 && j > 0) {
          row[static_cast<std::size_t>(j)] =
              row[static_cast<std::size_t>(j - 1)] +
              pascal[static_cast<std::size_t>(i - 1)][static_cast<std::size_t>(j)];
        }
        triplets.push_back({i, j, row[static_cast<std::size_t>(j)]});
      }
    }
    const Csr<double> A = Csr<double>::from_triplets(n, n, triplets);
    MappedEchelon<double> mapped(Device::serial());
    EXPECT_EQ(mapped.setup(A).rank, n);
  }
}

}  // namespace
}  // namespace echelon::test

// SPDX-License-Identifier: BSD-3-Clause
/// Graphs against what defines their family, counted on the matrix.
#include "support/spectra.hpp"

#include <echelon/generate.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/structure.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

Csr<double> graph(const std::string& name, Options options, const std::string& form = "adjacency") {
  options.set("form", form);
  return std::get<Csr<double>>(make_matrix<double>(name, options));
}

std::vector<std::int64_t> degrees(const Csr<double>& a) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    result.push_back(a.row_offsets()[i + 1] - a.row_offsets()[i]);
  }
  return result;
}

/// Histogram of the degrees.
std::map<std::int64_t, std::int64_t> degree_counts(const Csr<double>& a) {
  std::map<std::int64_t, std::int64_t> counts;
  for (const std::int64_t degree : degrees(a)) ++counts[degree];
  return counts;
}

std::int64_t edges(const Csr<double>& a) {
  return a.nonzeros() / 2;
}

/// Vertices that vertex 0 reaches.
std::int64_t reached(const Csr<double>& a) {
  if (a.rows() == 0) return 0;
  std::vector<bool> seen(static_cast<std::size_t>(a.rows()), false);
  std::queue<std::int64_t> next({0});
  seen[0] = true;
  std::int64_t count = 0;
  for (; !next.empty(); next.pop(), ++count) {
    const std::int64_t i = next.front();
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      const auto j = static_cast<std::size_t>(a.column_indices()[k]);
      if (seen[j]) continue;
      seen[j] = true;
      next.push(a.column_indices()[k]);
    }
  }
  return count;
}

void expect_simple(const Csr<double>& a) {
  const Structure s = analyze_structure<double>(a);
  EXPECT_TRUE(s.symmetric_values);
  EXPECT_EQ(s.zero_diagonals, s.rows);
  for (std::int64_t k = 0; k < a.nonzeros(); ++k) ASSERT_GT(a.values()[k], 0);
}

using Counts = std::map<std::int64_t, std::int64_t>;

TEST(GenerateGraphs, RegularFamilies_Degrees) {
  EXPECT_EQ(degree_counts(graph("path", {{"n", 10}})), (Counts{{1, 2}, {2, 8}}));
  EXPECT_EQ(degree_counts(graph("ring", {{"n", 10}})), (Counts{{2, 10}}));
  EXPECT_EQ(degree_counts(graph("ring", {{"n", 2}})), (Counts{{1, 2}}));
  EXPECT_EQ(degree_counts(graph("star", {{"n", 10}})), (Counts{{1, 9}, {9, 1}}));
  EXPECT_EQ(degree_counts(graph("complete", {{"n", 10}})), (Counts{{9, 10}}));
  EXPECT_EQ(degree_counts(graph("complete-binary-tree", {{"n", 15}})), (Counts{{1, 8}, {2, 1}, {3, 6}}));
  EXPECT_EQ(degree_counts(graph("grid-2d", {{"nx", 5}, {"ny", 4}})), (Counts{{2, 4}, {3, 10}, {4, 6}}));
  EXPECT_EQ(degree_counts(graph("grid-3d", {{"nx", 3}, {"ny", 3}, {"nz", 3}})),
            (Counts{{3, 8}, {4, 12}, {5, 6}, {6, 1}}));
  for (const char* name : {"path", "ring", "star", "complete", "complete-binary-tree"}) {
    for (const std::int64_t n : {1, 2, 3, 31, 33}) {
      const Csr<double> a = graph(name, {{"n", n}});
      expect_simple(a);
      EXPECT_EQ(reached(a), n) << name;
    }
  }
}

TEST(GenerateGraphs, SachdevaStarAndBarbell) {
  const Csr<double> star = graph("sachdeva-star", {});
  EXPECT_EQ(star.rows(), 10001);
  EXPECT_EQ(edges(star), 495100);
  EXPECT_EQ(degree_counts(star), (Counts{{99, 9900}, {100, 101}}));
  EXPECT_EQ(degrees(star).back(), 100);
  EXPECT_EQ(reached(star), 10001);

  const Csr<double> barbell = graph("barbell", {{"clique", 6}, {"path", 4}});
  EXPECT_EQ(degree_counts(barbell), (Counts{{5, 10}, {6, 2}, {2, 4}}));
  EXPECT_EQ(reached(barbell), 16);
  EXPECT_EQ(edges(graph("barbell", {{"clique", 3}, {"path", 0}})), 7);
}

TEST(GenerateGraphs, Grids_WeightsAlongAxes) {
  const Dense<double> a = to_dense<double>(
      graph("grid-3d", {{"nx", 2}, {"ny", 2}, {"nz", 2}, {"weight_y", 0.5}, {"weight_z", 0.25}}));
  EXPECT_EQ(a(0, 1), 1);
  EXPECT_EQ(a(0, 2), 0.5);
  EXPECT_EQ(a(0, 4), 0.25);
  EXPECT_EQ(a(0, 3), 0);
}

TEST(GenerateGraphs, RandomTree_IsTree) {
  for (const std::int64_t n : {1, 2, 3, 31, 1025}) {
    for (const std::int64_t seed : {1, 2, 3}) {
      const Csr<double> a = graph("random-tree", {{"n", n}, {"seed", seed}});
      EXPECT_EQ(edges(a), n - 1);
      EXPECT_EQ(reached(a), n);
    }
  }
  // Cayley: 3 trees on 3 labelled vertices, all equally likely. Here the centre tells which.
  Counts centres;
  for (std::int64_t seed = 0; seed < 3000; ++seed) {
    const auto degree = degrees(graph("random-tree", {{"n", 3}, {"seed", seed}}));
    ++centres[std::find(degree.begin(), degree.end(), 2) - degree.begin()];
  }
  for (std::int64_t v = 0; v < 3; ++v) EXPECT_NEAR(static_cast<double>(centres[v]), 1000, 110);
}

TEST(GenerateGraphs, GrownAndPreferential) {
  const Csr<double> grown = graph("grown", {{"n", 500}, {"k", 2}});
  EXPECT_EQ(reached(grown), 500);
  double weight = 0;
  for (std::int64_t k = 0; k < grown.nonzeros(); ++k) weight += grown.values()[k];
  EXPECT_EQ(weight, 2 * 2 * 499);  // doubled picks count twice

  for (const std::int64_t k : {1, 3}) {
    const Csr<double> a = graph("barabasi-albert", {{"n", 3000}, {"k", k}});
    EXPECT_EQ(edges(a), k * (k + 1) / 2 + (3000 - k - 1) * k);
    EXPECT_EQ(reached(a), 3000);
    const auto degree = degrees(a);
    EXPECT_GE(*std::min_element(degree.begin(), degree.end()), k);
    const Csr<double> even = graph("barabasi-albert", {{"n", 3000}, {"k", k}, {"uniform", 1}});
    const auto even_degree = degrees(even);
    EXPECT_GT(*std::max_element(degree.begin(), degree.end()),
              2 * *std::max_element(even_degree.begin(), even_degree.end()));
  }
  EXPECT_EQ(edges(graph("barabasi-albert", {{"n", 3}, {"k", 9}})), 3);
}

TEST(GenerateGraphs, ErdosRenyi) {
  const Csr<double> a = graph("erdos-renyi", {{"n", 5000}, {"degree", 6}});
  expect_simple(a);
  EXPECT_NEAR(static_cast<double>(edges(a)), 15000, 5 * std::sqrt(15000.0));
  EXPECT_EQ(edges(graph("erdos-renyi", {{"n", 20}, {"degree", 100}})), 190);
}

TEST(GenerateGraphs, RandomRegular) {
  for (const auto& [n, k] :
       {std::pair{4, 3}, {5, 2}, {10, 3}, {6, 5}, {9, 6}, {1000, 3}, {101, 60}, {7, 0}}) {
    for (const std::int64_t seed : {1, 2}) {
      const Csr<double> a = graph("random-regular", {{"n", n}, {"k", k}, {"seed", seed}});
      expect_simple(a);
      EXPECT_EQ(degree_counts(a), (Counts{{k, n}}));
    }
  }
}

TEST(GenerateGraphs, GeneralizedRing) {
  const Csr<double> a = graph("generalized-ring", {{"n", 1000}, {"k", 4}});
  const Dense<double> full = to_dense<double>(a);
  // Every vertex has equal neighbours, up to a rotation.
  for (std::int64_t i = 0; i < 1000; ++i) {
    for (std::int64_t j = 0; j < 1000; ++j) ASSERT_EQ(full(i, j), full(0, (j - i + 1000) % 1000));
  }
  EXPECT_GE(full(0, 1), 1);
  double degree = 0;
  for (std::int64_t j = 0; j < 1000; ++j) degree += full(0, j);
  EXPECT_EQ(degree, 8);
}

TEST(GenerateGraphs, Rmat_Hubs) {
  const Csr<double> a = graph("rmat", {{"scale", 12}});
  expect_simple(a);
  EXPECT_EQ(a.rows(), 4096);
  EXPECT_LE(edges(a), 16 * 4096);
  EXPECT_GT(edges(a), 8 * 4096);
  const auto degree = degrees(a);
  EXPECT_GT(*std::max_element(degree.begin(), degree.end()), 500);
  // Four quarters alike: like Erdos and Renyi's.
  const auto even = degrees(graph("rmat", {{"scale", 12}, {"a", 0.25}, {"b", 0.25}, {"c", 0.25}}));
  EXPECT_LT(*std::max_element(even.begin(), even.end()), 80);
}

TEST(GenerateGraphs, Chimera_Connected) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 10, 29, 30, 31, 100, 199, 200, 201, 1000, 5000}) {
    for (std::int64_t seed = 0; seed < 25; ++seed) {
      const Csr<double> a = graph("chimera", {{"n", n}, {"seed", seed}});
      ASSERT_EQ(a.rows(), n);
      ASSERT_EQ(reached(a), n) << n << ' ' << seed;
    }
  }
}

TEST(GenerateGraphs, Chimera_SeedsDiffer) {
  std::map<std::int64_t, int> sizes;
  for (std::int64_t seed = 0; seed < 40; ++seed)
    ++sizes[graph("chimera", {{"n", 400}, {"seed", seed}}).nonzeros()];
  EXPECT_GT(sizes.size(), 20U);
}

TEST(GenerateGraphs, Weights) {
  for (const std::string weights : {"unit", "uniform", "log-uniform", "chimera"}) {
    for (std::int64_t seed = 0; seed < 10; ++seed) {
      const Csr<double> a = graph("chimera", {{"n", 300}, {"seed", seed}, {"weights", weights}});
      expect_simple(a);
      const auto [low, high] = std::minmax_element(a.values().span().begin(), a.values().span().end());
      if (weights == "unit") {
        EXPECT_EQ(*low, 1);
        EXPECT_EQ(*high, 1);
      }
      if (weights == "uniform") {
        EXPECT_LE(*high, 1);
      }
      if (weights == "log-uniform") {
        EXPECT_GE(*low, 1e-3);
        EXPECT_LE(*high, 1e3);
        EXPECT_GT(*high / *low, 1e4);
      }
    }
  }
  // Complete graphs smooth potentials away altogether; the weights must not vanish.
  for (std::int64_t seed = 0; seed < 40; ++seed) {
    const Csr<double> a = graph("complete", {{"n", 40}, {"seed", seed}, {"weights", "chimera"}});
    expect_simple(a);
    EXPECT_EQ(reached(a), 40);
  }
}

TEST(GenerateGraphs, Laplacian_AnnihilatesOnes) {
  for (const Generator& generator : generators()) {
    if (generator.family != "graphs" || generator.name == "sachdeva-star") continue;
    for (const char* weights : {"own", "log-uniform"}) {
      const Csr<double> a = graph(generator.name, {{"weights", weights}});
      const Csr<double> laplacian = graph(generator.name, {{"weights", weights}}, "laplacian");
      ASSERT_EQ(laplacian.nonzeros(), a.nonzeros() + a.rows());
      for (std::int64_t i = 0; i < a.rows(); ++i) {
        double sum = 0;
        double diagonal = 0;
        for (std::int64_t k = laplacian.row_offsets()[i]; k < laplacian.row_offsets()[i + 1]; ++k) {
          sum += laplacian.values()[k];
          if (laplacian.column_indices()[k] == i) diagonal = laplacian.values()[k];
        }
        ASSERT_LE(std::abs(sum), 1e-12 * diagonal) << generator.name << ' ' << i;
      }
    }
  }
}

TEST(GenerateGraphs, Sddm_LaplacianWithoutSomeRows) {
  for (const std::int64_t n : {1, 2, 3, 8, 9, 27, 100}) {
    const Dense<double> whole = to_dense<double>(graph("complete-binary-tree", {{"n", n}}, "laplacian"));
    const Csr<double> part = graph("complete-binary-tree", {{"n", n}}, "sddm");
    const auto step = static_cast<std::int64_t>(std::ceil(std::cbrt(static_cast<double>(n)) - 1e-9));
    std::vector<std::int64_t> kept;
    for (std::int64_t i = 0; i < n; ++i) {
      if ((i + 1) % step != 0) kept.push_back(i);
    }
    const auto size = static_cast<std::int64_t>(kept.size());
    ASSERT_EQ(part.rows(), size);
    const Dense<double> full = to_dense<double>(part);
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t j = 0; j < size; ++j) {
        ASSERT_EQ(full(i, j), whole(kept[static_cast<std::size_t>(i)], kept[static_cast<std::size_t>(j)]));
      }
    }
  }
}

TEST(GenerateGraphs, SddmOfConnectedGraph_PositiveDefinite) {
  for (std::int64_t seed = 0; seed < 10; ++seed) {
    const Csr<double> a = graph("chimera", {{"n", 200}, {"seed", seed}, {"weights", "uniform"}}, "sddm");
    const std::vector<double> eigenvalues = symmetric_eigenvalues(to_dense<double>(a));
    EXPECT_GT(eigenvalues.front(), 1e-14 * eigenvalues.back());
  }
}

}  // namespace
}  // namespace echelon::test

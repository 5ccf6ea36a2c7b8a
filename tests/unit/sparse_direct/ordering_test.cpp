// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/ordering.hpp"

#include "sparse_direct/ordering/column_ordering.hpp"
#include "sparse_direct/ordering/cuthill_mckee.hpp"
#include "sparse_direct/ordering/metis.hpp"
#include "sparse_direct/pattern/dense_rows.hpp"
#include "sparse_direct/pattern/row_groups.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"
#include "support/patterns.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/csr.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

namespace echelon::sparse_direct {
namespace {

constexpr Ordering all[] = {Ordering::amd, Ordering::dissection, Ordering::metis, Ordering::rcm,
                            Ordering::natural};

std::int64_t factor_entries(const PatternStorage& pattern, Ordering ordering) {
  return analyze_symmetric(pattern.view(), {.ordering = {.ordering = ordering}}).factor_entries;
}

/// Largest distance of an entry from the diagonal of P A P^T.
std::int64_t bandwidth(const PatternStorage& pattern, const std::vector<std::int32_t>& permutation) {
  const PatternStorage permuted = permuted_pattern(pattern.view(), permutation);
  std::int64_t width = 0;
  for (std::int64_t i = 0; i < permuted.view().n; ++i) {
    for (const std::int32_t j : permuted.view().row(i)) width = std::max(width, std::abs(i - j));
  }
  return width;
}

TEST(Ordering, IsAPermutation) {
  for (const auto& [name, pattern] : small_patterns()) {
    for (const Ordering ordering : all) {
      const auto permutation = order(pattern.view(), {ordering});
      EXPECT_TRUE(is_permutation(permutation, pattern.view().n)) << name << ' ' << to_string(ordering);
    }
  }
}

TEST(Ordering, EveryRun_SameOrdering) {
  const PatternStorage grid = grid_pattern(70, 60);
  for (const Ordering ordering : all) {
    EXPECT_EQ(order(grid.view(), {ordering}), order(grid.view(), {ordering})) << to_string(ordering);
  }
}

TEST(Ordering, Grid_LessFill) {
  const PatternStorage grid = grid_pattern(90, 90);
  const std::int64_t natural = factor_entries(grid, Ordering::natural);
  EXPECT_LT(2 * factor_entries(grid, Ordering::amd), natural);
  EXPECT_LT(2 * factor_entries(grid, Ordering::dissection), natural);
  EXPECT_LT(2 * factor_entries(grid, Ordering::metis), natural);
}

TEST(Ordering, Arrow_NoFill) {
  const PatternStorage arrow = star_pattern(2000, 0);
  for (const Ordering ordering : {Ordering::amd, Ordering::dissection, Ordering::metis}) {
    EXPECT_EQ(factor_entries(arrow, ordering), 2 * 2000 - 1) << to_string(ordering);
  }
}

TEST(ReverseCuthillMckee, ShuffledGrid_BandIsFound) {
  const PatternStorage grid = grid_pattern(100, 8);
  std::vector<std::int32_t> shuffled(800);
  std::iota(shuffled.begin(), shuffled.end(), 0);
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(3));
  const PatternStorage mixed = permuted_pattern(grid.view(), shuffled);
  EXPECT_GT(bandwidth(mixed, order(mixed.view(), {Ordering::natural})), 400);
  EXPECT_LE(bandwidth(mixed, reverse_cuthill_mckee(mixed.view())), 9);
}

TEST(ReverseCuthillMckee, Path_EndToEnd) {
  constexpr std::int32_t n = 300'000;
  std::vector<std::int32_t> shuffled(n);
  std::iota(shuffled.begin(), shuffled.end(), 0);
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(4));
  const PatternStorage path = path_pattern(n);
  const PatternStorage mixed = permuted_pattern(path.view(), shuffled);
  EXPECT_EQ(bandwidth(mixed, reverse_cuthill_mckee(mixed.view())), 1);
}

TEST(ReverseCuthillMckee, Components_AreContiguous) {
  // Two paths, 0-2-4-6 and 1-3-5-7.
  const PatternStorage paths = pattern_of_edges(8, {{0, 2}, {2, 4}, {4, 6}, {1, 3}, {3, 5}, {5, 7}});
  EXPECT_EQ(bandwidth(paths, reverse_cuthill_mckee(paths.view())), 1);
}

TEST(DenseRows, ComeLast) {
  // A path of 900 rows, of which two are connected to everything.
  std::vector<Edge> edges;
  for (std::int32_t i = 0; i + 1 < 900; ++i) edges.emplace_back(i, i + 1);
  for (std::int32_t i = 0; i < 900; ++i) {
    edges.emplace_back(i, 100);
    if (i != 3) edges.emplace_back(i, 200);
  }
  const PatternStorage pattern = pattern_of_edges(900, edges);
  const auto permutation = with_dense_rows_last(pattern.view(), [](const Pattern& sparse) {
    EXPECT_EQ(sparse.n, 898);
    return reverse_cuthill_mckee(sparse);
  });
  ASSERT_TRUE(is_permutation(permutation, 900));
  EXPECT_EQ(permutation[898], 200);
  EXPECT_EQ(permutation[899], 100);
}

TEST(RowGroups, Unknowns_OfEachNode) {
  // Each point of a grid has three unknowns, numbered far apart.
  constexpr std::int32_t points = 6 * 5;
  const PatternStorage grid = grid_pattern(6, 5);
  std::vector<Edge> edges;
  for (std::int32_t i = 0; i < points; ++i) {
    for (const std::int32_t j : grid.view().row(i)) {
      for (std::int32_t x = 0; x < 3; ++x) {
        for (std::int32_t y = 0; y < 3; ++y) edges.emplace_back(i + x * points, j + y * points);
      }
    }
  }
  const PatternStorage pattern = pattern_of_edges(3 * points, edges);
  const RowGroups groups = indistinguishable_rows(pattern.view());
  ASSERT_EQ(groups.size(), points);
  for (std::int32_t i = 0; i < points; ++i) {
    const auto rows = groups.of(i);
    EXPECT_EQ(std::vector<std::int32_t>(rows.begin(), rows.end()),
              (std::vector<std::int32_t>{i, i + points, i + 2 * points}));
  }
  const PatternStorage compressed = compressed_pattern(pattern.view(), groups);
  for (std::int32_t i = 0; i < points; ++i) {
    const auto row = compressed.view().row(i);
    std::vector<std::int32_t> entries(row.begin(), row.end());
    entries.push_back(i);
    std::sort(entries.begin(), entries.end());
    const auto expected = grid.view().row(i);
    EXPECT_EQ(entries, std::vector<std::int32_t>(expected.begin(), expected.end()));
  }
}

TEST(RowGroups, AnyNumberOfThreads_SameResult) {
  const PatternStorage grid = grid_pattern(300, 100);
  EXPECT_EQ(first_equal_rows(grid.view(), 1), first_equal_rows(grid.view(), 3));
}

TEST(RowGroups, EqualsTheDefinition) {
  for (const auto& [name, pattern] : small_patterns()) {
    SCOPED_TRACE(name);
    const Pattern a = pattern.view();
    const RowGroups groups = indistinguishable_rows(a);
    std::vector<std::int32_t> group_of(static_cast<std::size_t>(a.n));
    for (std::int32_t g = 0; g < groups.size(); ++g) {
      for (const std::int32_t row : groups.of(g)) group_of[row] = g;
    }
    const auto closed = [&](std::int32_t i) {
      std::set<std::int32_t> entries(a.row(i).begin(), a.row(i).end());
      entries.insert(i);
      return entries;
    };
    for (std::int32_t i = 0; i < a.n; ++i) {
      for (std::int32_t j = 0; j < i; ++j) EXPECT_EQ(group_of[i] == group_of[j], closed(i) == closed(j));
    }
  }
}

TEST(Metis, CallersRandomNumbers_Unchanged) {
  const PatternStorage grid = grid_pattern(40, 40);
  std::srand(7);
  const int first = std::rand();
  const int second = std::rand();
  std::srand(7);
  EXPECT_EQ(std::rand(), first);
  (void)metis_ordering(grid.view());
  EXPECT_EQ(std::rand(), second);
}

TEST(Metis, ConcurrentCalls_SameOrdering) {
  const PatternStorage grid = grid_pattern(60, 60);
  const auto expected = metis_ordering(grid.view());
  std::vector<std::vector<std::int32_t>> results(4);
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&] { result = metis_ordering(grid.view()); });
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

TEST(Metis, Sigterm_HandlerAndMaskRestored) {
  const auto before = std::signal(SIGTERM, SIG_IGN);
  (void)metis_ordering(grid_pattern(30, 30).view());
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0);
  EXPECT_EQ(std::signal(SIGTERM, before), SIG_IGN);
}

/// Entries of the Cholesky factor of A^T A when its columns are eliminated in the given order.
std::int64_t entries_of_normal_factor(const Csr<double>& a, const std::vector<std::int32_t>& permutation) {
  std::vector<Edge> edges;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t p = a.row_offsets()[i]; p < a.row_offsets()[i + 1]; ++p) {
      for (std::int64_t q = a.row_offsets()[i]; q < p; ++q) {
        edges.emplace_back(a.column_indices()[p], a.column_indices()[q]);
      }
    }
  }
  const PatternStorage product = pattern_of_edges(a.columns(), edges);
  return analyze_symmetric(product.view(), {.ordering = {.permutation = permutation}}).factor_entries;
}

TEST(ColumnOrdering, NormalEquations_LessFill) {
  std::mt19937 random(11);
  std::uniform_int_distribution<std::int32_t> column(0, 299);
  std::vector<Triplet<double>> triplets;
  for (std::int32_t i = 0; i < 400; ++i) {
    const std::int32_t centre = column(random);
    for (std::int32_t k = 0; k < 3; ++k) triplets.push_back({i, (centre + 7 * k * k) % 300, 1.0});
  }
  const auto a = Csr<double>::from_triplets(400, 300, triplets);
  const auto permutation = column_minimum_degree_ordering(rectangular_pattern_of(a));
  ASSERT_TRUE(is_permutation(permutation, 300));
  std::vector<std::int32_t> natural(300);
  std::iota(natural.begin(), natural.end(), 0);
  EXPECT_LT(entries_of_normal_factor(a, permutation), entries_of_normal_factor(a, natural));
}

/// A natural order stands for one of minimum degree, to tell it from one that is computed.
TEST(MinimumDegree, KnownOrder_IsNotComputedAgain) {
  const PatternStorage grid = grid_pattern(9, 9);
  const std::vector<std::int32_t> known = order(grid.view(), {Ordering::natural});
  const std::vector<std::int32_t> of_fewer(known.begin(), known.end() - 1);
  const std::vector<std::int32_t> computed = order(grid.view(), {Ordering::amd});
  ASSERT_NE(computed, known);
  EXPECT_EQ(order(grid.view(), {.ordering = Ordering::amd, .minimum_degree = known}), known);
  EXPECT_EQ(order(grid.view(), {.ordering = Ordering::amd, .minimum_degree = of_fewer}), computed);
}

TEST(ColumnOrdering, AwkwardShapes) {
  EXPECT_TRUE(is_permutation(column_minimum_degree_ordering(rectangular_pattern_of(Csr<double>())), 0));
  const Csr<float> no_entries(3, 2, {0, 0, 0, 0}, {}, {});
  EXPECT_TRUE(is_permutation(column_minimum_degree_ordering(rectangular_pattern_of(no_entries)), 2));
  const Csr<float> no_rows(0, 2, {0}, {}, {});
  EXPECT_TRUE(is_permutation(column_minimum_degree_ordering(rectangular_pattern_of(no_rows)), 2));
  const Csr<float> no_columns(2, 0, {0, 0, 0}, {}, {});
  EXPECT_TRUE(is_permutation(column_minimum_degree_ordering(rectangular_pattern_of(no_columns)), 0));
}

}  // namespace
}  // namespace echelon::sparse_direct

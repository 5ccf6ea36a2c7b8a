// SPDX-License-Identifier: BSD-3-Clause
/// The symbolic factorisation against elimination of the pattern, column by column.
#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include "sparse_direct/pattern/row_groups.hpp"
#include "sparse_direct/symbolic/closed_ranges.hpp"
#include "sparse_direct/symbolic/elimination_tree.hpp"
#include "sparse_direct/symbolic/tree.hpp"
#include "support/patterns.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/csr.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace echelon::sparse_direct {
namespace {

/// The rows below the diagonal of each column of L, from the definition: eliminating a column connects all of
/// its later neighbours with each other.
std::vector<std::set<std::int32_t>> eliminate(const Pattern& a, std::span<const std::int32_t> permutation) {
  const std::vector<std::int32_t> inverse = inverse_permutation(permutation);
  std::vector<std::set<std::int32_t>> below(static_cast<std::size_t>(a.n));
  for (std::int32_t i = 0; i < a.n; ++i) {
    for (const std::int32_t j : a.row(i)) {
      if (inverse[j] > inverse[i]) below[inverse[i]].insert(inverse[j]);
    }
  }
  for (const auto& column : below) {
    for (const std::int32_t i : column) {
      below[i].insert(column.upper_bound(i), column.end());
    }
  }
  return below;
}

/// The largest stack of update matrices when supernodes are processed in order.
std::int64_t replayed_stack_peak(const SymbolicFactor& factor) {
  std::vector<std::int64_t> children_entries(factor.parent.size(), 0);
  std::int64_t stack = 0;
  std::int64_t peak = 0;
  for (std::int32_t s = 0; s < factor.supernodes(); ++s) {
    const auto update = static_cast<std::int64_t>(factor.rows_of(s).size());
    stack += update * update - children_entries[s];
    peak = std::max(peak, stack);
    if (factor.parent[s] >= 0) children_entries[factor.parent[s]] += update * update;
  }
  EXPECT_EQ(stack, 0);
  return peak;
}

void expect_postordered(const SymbolicFactor& factor) {
  std::vector<std::int32_t> first(factor.parent.size());
  std::iota(first.begin(), first.end(), 0);
  for (std::int32_t s = 0; s < factor.supernodes(); ++s) {
    const std::int32_t p = factor.parent[s];
    if (p < 0) continue;
    ASSERT_GT(p, s);
    first[p] = std::min(first[p], first[s]);
  }
  std::vector<std::int32_t> size(factor.parent.size(), 1);
  for (std::int32_t s = 0; s < factor.supernodes(); ++s) {
    EXPECT_EQ(size[s], s - first[s] + 1) << "the subtree of " << s << " is not contiguous";
    if (factor.parent[s] >= 0) size[factor.parent[s]] += size[s];
  }
}

void expect_consistent(const Pattern& a, const SymbolicFactor& factor) {
  ASSERT_EQ(factor.n, a.n);
  ASSERT_TRUE(is_permutation(factor.permutation, a.n));
  ASSERT_EQ(factor.supernode_begin.size(), factor.parent.size() + 1);
  ASSERT_EQ(factor.row_begin.size(), factor.parent.size() + 1);
  EXPECT_EQ(factor.supernode_begin.front(), 0);
  EXPECT_EQ(factor.supernode_begin.back(), a.n);
  EXPECT_EQ(factor.row_begin.back(), static_cast<std::int64_t>(factor.rows.size()));
  expect_postordered(factor);
}

/// Compares with the eliminated pattern; without relaxation every supernode has to be exact.
void expect_matches_elimination(const Pattern& a, const SymbolicFactor& factor, bool exact) {
  const auto below = eliminate(a, factor.permutation);
  std::int64_t entries = 0;
  std::int64_t stored = 0;
  double flops = 0;
  for (const auto& column : below) {
    entries += static_cast<std::int64_t>(column.size()) + 1;
    flops += static_cast<double>((column.size() + 1) * (column.size() + 1));
  }
  EXPECT_EQ(factor.factor_entries, entries);
  EXPECT_EQ(factor.flops, flops);
  for (std::int32_t s = 0; s < factor.supernodes(); ++s) {
    const std::int32_t end = factor.supernode_begin[s + 1];
    std::set<std::int32_t> rows;
    for (std::int32_t k = factor.supernode_begin[s]; k < end; ++k) {
      rows.insert(below[k].lower_bound(end), below[k].end());
      stored += factor.front_size(s) - (k - factor.supernode_begin[s]);
    }
    const auto found = factor.rows_of(s);
    EXPECT_EQ(std::vector<std::int32_t>(found.begin(), found.end()),
              std::vector<std::int32_t>(rows.begin(), rows.end()))
        << "supernode " << s;
    const std::int32_t parent = factor.parent[s];
    ASSERT_EQ(parent < 0, found.empty());
    if (parent < 0) continue;
    EXPECT_GE(found.front(), factor.supernode_begin[parent]);
    EXPECT_LT(found.front(), factor.supernode_begin[parent + 1]);
    for (const std::int32_t row : found) {
      if (row < factor.supernode_begin[parent + 1]) continue;
      const auto above = factor.rows_of(parent);
      EXPECT_TRUE(std::binary_search(above.begin(), above.end(), row));
    }
  }
  EXPECT_EQ(factor.stored_entries, stored);
  if (exact) {
    EXPECT_EQ(stored, entries);
  }
  EXPECT_EQ(factor.stack_peak_entries, replayed_stack_peak(factor));
}

TEST(SymbolicFactor, Pattern_AgreesWithElimination) {
  for (const auto& [name, pattern] : small_patterns()) {
    SCOPED_TRACE(name);
    for (const Ordering ordering : {Ordering::natural, Ordering::amd, Ordering::rcm, Ordering::automatic}) {
      SCOPED_TRACE(to_string(ordering));
      for (const bool exact : {true, false}) {
        AnalysisOptions options;
        options.ordering.ordering = ordering;
        if (exact) options.amalgamation = AmalgamationLimits::none();
        const SymbolicFactor factor = analyze_symmetric(pattern.view(), options);
        expect_consistent(pattern.view(), factor);
        expect_matches_elimination(pattern.view(), factor, exact);
      }
    }
  }
}

TEST(SymbolicFactor, EliminationTree_IsTheFirstRowBelowTheDiagonal) {
  for (const auto& [name, pattern] : small_patterns()) {
    SCOPED_TRACE(name);
    std::vector<std::int32_t> natural(static_cast<std::size_t>(pattern.view().n));
    std::iota(natural.begin(), natural.end(), 0);
    const auto below = eliminate(pattern.view(), natural);
    const auto parent = elimination_tree(pattern.view());
    const auto counts = column_counts(pattern.view(), parent, postorder(parent, Children(parent)));
    for (std::size_t j = 0; j < below.size(); ++j) {
      EXPECT_EQ(parent[j], below[j].empty() ? -1 : *below[j].begin());
      EXPECT_EQ(counts[j], static_cast<std::int32_t>(below[j].size()) + 1);
    }
  }
}

TEST(SymbolicFactor, AmalgamationLimits_BoundTheZeros) {
  const PatternStorage grid = grid_pattern(60, 60);
  const SymbolicFactor relaxed = analyze_symmetric(grid.view());
  AnalysisOptions options;
  options.amalgamation = AmalgamationLimits::none();
  const SymbolicFactor exact = analyze_symmetric(grid.view(), options);
  EXPECT_LT(relaxed.supernodes(), exact.supernodes());
  EXPECT_EQ(relaxed.factor_entries, exact.factor_entries);
  EXPECT_EQ(exact.stored_entries, exact.factor_entries);
  EXPECT_LT(relaxed.stored_entries, 2 * relaxed.factor_entries);
}

/// Small fronts are merged whatever zeros that stores, and larger ones only where the other rules say so.
TEST(SymbolicFactor, FrontLimit_MergesSmallFronts) {
  for (const PatternStorage& pattern : {path_pattern(5000), grid_pattern(60, 60)}) {
    AnalysisOptions options;
    options.ordering.ordering = Ordering::dissection;
    const SymbolicFactor before = analyze_symmetric(pattern.view(), options);
    options.amalgamation.front = 48;
    const SymbolicFactor merged = analyze_symmetric(pattern.view(), options);
    expect_consistent(pattern.view(), merged);
    EXPECT_EQ(merged.factor_entries, before.factor_entries);
    EXPECT_LT(3 * merged.supernodes(), 2 * before.supernodes());
    EXPECT_LE(merged.stored_entries, 48 * merged.n + before.stored_entries);
    for (std::int64_t s = 0; s < merged.supernodes(); ++s) {
      const std::int32_t parent = merged.parent[static_cast<std::size_t>(s)];
      if (parent < 0) continue;
      EXPECT_GT(merged.pivots(s) + merged.front_size(parent), 48) << "supernode " << s;
    }
  }
}

TEST(SymbolicFactor, PathOfAMillionRows) {
  constexpr std::int32_t n = 1'000'000;
  const PatternStorage path = path_pattern(n);
  for (const Ordering ordering : {Ordering::natural, Ordering::amd}) {
    const SymbolicFactor factor = analyze_symmetric(path.view(), {.ordering = {.ordering = ordering}});
    expect_consistent(path.view(), factor);
    EXPECT_EQ(factor.factor_entries, 2 * n - 1);
    EXPECT_EQ(factor.flops, 4.0 * (n - 1) + 1);
  }
}

/// Supernodes on the longest path to a root.
std::int64_t levels_of(const SymbolicFactor& factor) {
  std::vector<std::int64_t> levels(factor.parent.size(), 1);
  for (std::size_t s = 0; s < levels.size(); ++s) {
    const std::int32_t parent = factor.parent[s];
    if (parent >= 0) levels[parent] = std::max(levels[parent], levels[s] + 1);
  }
  return levels.empty() ? 0 : *std::max_element(levels.begin(), levels.end());
}

/// A GPU eliminates the levels of a tree one after the other: parts of a narrow graph are divided further
/// for it than minimum degree, which numbers them from their ends, needs them to be.
TEST(SymbolicFactor, NarrowGraphs_HaveLowTreesOnGpus) {
  std::vector<Triplet<double>> entries;
  constexpr std::int32_t n = 20'000;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = std::max(i - 2, 0); j <= std::min(i + 2, n - 1); ++j)
      entries.push_back({i, j, 1.0});
  }
  const Csr<double> band = Csr<double>::from_triplets(n, n, entries);
  const auto levels = [&](Ordering ordering, bool for_gpu) {
    return levels_of(
        analyze_symmetric(pattern_of(band), {.ordering = {.ordering = ordering, .for_gpu = for_gpu}}));
  };
  const std::int64_t on_gpu = levels(Ordering::dissection, true);
  EXPECT_LE(on_gpu, 30);
  EXPECT_LE(on_gpu, levels(Ordering::dissection, false) / 2);
  EXPECT_EQ(levels(Ordering::automatic, true), on_gpu);
}

TEST(SymbolicFactor, StarOfAMillionRows) {
  constexpr std::int32_t n = 1'000'000;
  const PatternStorage star = star_pattern(n, 3);
  const SymbolicFactor factor = analyze_symmetric(star.view());
  expect_consistent(star.view(), factor);
  EXPECT_EQ(factor.factor_entries, 2 * n - 1);
}

TEST(SymbolicFactor, GivenPermutation_IsKeptUpToEquivalence) {
  const PatternStorage grid = grid_pattern(6, 5);
  std::vector<std::int32_t> reversed(30);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  AnalysisOptions options;
  options.ordering.permutation = reversed;
  const SymbolicFactor factor = analyze_symmetric(grid.view(), options);
  std::int64_t entries = 0;
  for (const auto& column : eliminate(grid.view(), reversed)) entries += std::ssize(column) + 1;
  EXPECT_EQ(factor.factor_entries, entries);
  EXPECT_EQ(factor.ordering, "given");
}

TEST(SymbolicFactor, GivenPermutation_ThatIsNone_Throws) {
  const PatternStorage grid = grid_pattern(2, 2);
  const auto analyze = [&](std::vector<std::int32_t> permutation) {
    (void)analyze_symmetric(grid.view(), {.ordering = {.permutation = permutation}});
  };
  EXPECT_THROW(analyze({0, 1, 2}), BadOption);
  EXPECT_THROW(analyze({0, 1, 2, 2}), BadOption);
  EXPECT_THROW(analyze({0, 1, 2, 4}), BadOption);
  EXPECT_THROW(analyze({0, -1, 2, 3}), BadOption);
}

TEST(SymbolicFactor, Pairs_AreNeighboursInOneSupernode) {
  for (const auto& [name, pattern] : small_patterns()) {
    SCOPED_TRACE(name);
    const std::int64_t n = pattern.view().n;
    std::vector<std::int32_t> partner(static_cast<std::size_t>(n));
    std::iota(partner.begin(), partner.end(), 0);
    for (std::int32_t i = 0; i < n; ++i) {
      for (const std::int32_t j : pattern.view().row(i)) {
        if (partner[i] == i && partner[j] == j && (i + j) % 3 != 0) {
          partner[i] = j;
          partner[j] = i;
        }
      }
    }
    AnalysisOptions options;
    options.partner = partner;
    const SymbolicFactor factor = analyze_symmetric(pattern.view(), options);
    expect_consistent(pattern.view(), factor);
    const PatternStorage merged = merged_pattern(pattern.view(), pairs(partner));
    expect_matches_elimination(merged.view(), factor, false);
    const std::vector<std::int32_t> place = inverse_permutation(factor.permutation);
    for (std::int32_t s = 0; s < factor.supernodes(); ++s) {
      for (std::int32_t k = factor.supernode_begin[s]; k < factor.supernode_begin[s + 1]; ++k) {
        const std::int32_t other = place[partner[factor.permutation[k]]];
        EXPECT_LE(std::abs(other - k), 1);
        EXPECT_GE(other, factor.supernode_begin[s]);
        EXPECT_LT(other, factor.supernode_begin[s + 1]);
      }
    }
  }
}

/// Patterns with enough rows for several threads.
std::vector<NamedPattern> divided_patterns() {
  std::mt19937 random(8);
  return {{"grid", grid_pattern(170, 150)},
          {"path", path_pattern(20'000)},
          {"star", star_pattern(20'000, 777)},
          {"random", random_pattern(20'000, 12'000, random)}};
}

TEST(SymbolicFactor, AnyNumberOfThreads_SameResult) {
  for (const auto& [name, pattern] : divided_patterns()) {
    for (const Ordering ordering : {Ordering::amd, Ordering::dissection}) {
      SCOPED_TRACE(name + " " + std::string(to_string(ordering)));
      const SymbolicFactor one = analyze_symmetric(pattern.view(), {.ordering = {.ordering = ordering}});
      const SymbolicFactor four =
          analyze_symmetric(pattern.view(), {.ordering = {.ordering = ordering, .threads = 4}});
      EXPECT_EQ(one.permutation, four.permutation);
      EXPECT_EQ(one.supernode_begin, four.supernode_begin);
      EXPECT_EQ(one.parent, four.parent);
      EXPECT_EQ(one.rows, four.rows);
      EXPECT_EQ(one.factor_entries, four.factor_entries);
      EXPECT_EQ(one.flops, four.flops);
    }
  }
}

/// The nodes of a partition are those of the forest, and the descendants of each range are in it.
TEST(ForestPartition, RangesAreClosed) {
  for (const auto& [name, pattern] : divided_patterns()) {
    SCOPED_TRACE(name);
    const EliminationForest forest =
        elimination_forest(pattern.view(), order(pattern.view(), {.ordering = Ordering::dissection}));
    const std::vector<std::int32_t> first = first_descendants(forest.parent);
    for (const int threads : {1, 4}) {
      const ForestPartition parts = partition(first, threads);
      std::vector<std::int32_t> nodes = parts.top;
      for (const ClosedRange& range : parts.ranges) {
        for (std::int32_t k = range.begin; k < range.end; ++k) {
          nodes.push_back(k);
          EXPECT_GE(first[k], range.begin);
        }
      }
      EXPECT_TRUE(is_permutation(nodes, pattern.view().n));
      EXPECT_TRUE(std::is_sorted(parts.top.begin(), parts.top.end()));
      const bool one_range = threads == 1 || pattern.view().n < 2048;
      EXPECT_EQ(parts.ranges.size() == 1 && parts.top.empty(), one_range);
    }
  }
}

TEST(Postorder, ListsOfChildren_SameOrder) {
  for (const auto& [name, pattern] : small_patterns()) {
    const std::vector<std::int32_t> parent = elimination_tree(pattern.view());
    EXPECT_EQ(postorder(parent), postorder(parent, Children(parent))) << name;
  }
}

TEST(Pattern, Symmetrized_UnionWithTranspose) {
  const Csr<double> a(3, 3, {0, 2, 3, 5}, {0, 2, 0, 1, 2}, {1, 1, 1, 1, 1});
  const PatternStorage symmetric = symmetrized_pattern(a);
  EXPECT_EQ(symmetric.row_begin, (UninitializedVector<std::int64_t>{0, 2, 4, 6}));
  EXPECT_EQ(symmetric.columns, (UninitializedVector<std::int32_t>{1, 2, 0, 2, 0, 1}));
}

TEST(Pattern, Symmetrized_PermutedRows) {
  // Rows 1, 2, 0 of A: the entries become the diagonal and (0, 1).
  const Csr<float> a(3, 3, {0, 1, 3, 4}, {2, 0, 1, 1}, {1, 1, 1, 1});
  const std::vector<std::int32_t> rows{1, 2, 0};
  const PatternStorage symmetric = symmetrized_pattern(a, rows);
  EXPECT_EQ(symmetric.row_begin, (UninitializedVector<std::int64_t>{0, 1, 2, 2}));
  EXPECT_EQ(symmetric.columns, (UninitializedVector<std::int32_t>{1, 0}));
}

}  // namespace
}  // namespace echelon::sparse_direct

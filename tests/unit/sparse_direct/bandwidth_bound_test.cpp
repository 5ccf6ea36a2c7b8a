// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/bandwidth_bound.hpp"

#include "support/patterns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace echelon::sparse_direct {
namespace {

constexpr std::int64_t unlimited = 1000;

/// Entries up to `width` columns from the diagonal, of rows numbered at random.
PatternStorage shuffled_band(std::int32_t n, std::int32_t width, std::mt19937& random) {
  std::vector<std::int32_t> place(static_cast<std::size_t>(n));
  std::iota(place.begin(), place.end(), 0);
  std::shuffle(place.begin(), place.end(), random);
  std::vector<Edge> edges;
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int32_t j = i; j <= std::min(n - 1, i + width); ++j) edges.emplace_back(place[i], place[j]);
  }
  return pattern_of_edges(n, std::move(edges));
}

/// The smallest half-bandwidth of all numberings.
std::int64_t smallest_half_bandwidth(const Pattern& a) {
  std::vector<std::int32_t> number(static_cast<std::size_t>(a.n));
  std::iota(number.begin(), number.end(), 0);
  std::int64_t smallest = a.n;
  do {
    std::int64_t width = 0;
    for (std::int64_t i = 0; i < a.n; ++i) {
      for (const std::int32_t j : a.row(i))
        width = std::max<std::int64_t>(width, std::abs(number[i] - number[j]));
    }
    smallest = std::min(smallest, width);
  } while (std::next_permutation(number.begin(), number.end()));
  return smallest;
}

TEST(HalfBandwidthBound, FullBand_IsItsHalfWidth) {
  std::mt19937 random(4);
  for (const std::int32_t width : {0, 1, 2, 7, 31}) {
    const PatternStorage band = shuffled_band(1025, width, random);
    EXPECT_EQ(half_bandwidth_bound(band.view(), unlimited), width);
  }
}

TEST(HalfBandwidthBound, RandomPatterns_AtMostTheSmallestOfAllNumberings) {
  std::mt19937 random(9);
  for (int repetition = 0; repetition < 60; ++repetition) {
    const PatternStorage pattern = random_pattern(7, 3 + repetition % 12, random);
    EXPECT_LE(half_bandwidth_bound(pattern.view(), unlimited), smallest_half_bandwidth(pattern.view()));
  }
}

TEST(HalfBandwidthBound, SmallPatterns_NoMoreThanTheRows) {
  for (const auto& [name, pattern] : small_patterns()) {
    const std::int64_t bound = half_bandwidth_bound(pattern.view(), unlimited);
    EXPECT_GE(bound, 0) << name;
    EXPECT_LE(bound, std::max<std::int64_t>(0, pattern.view().n - 1)) << name;
  }
}

TEST(HalfBandwidthBound, Star_IsHalfOfTheRows) {
  EXPECT_EQ(half_bandwidth_bound(star_pattern(101, 50).view(), unlimited), 50);
}

TEST(HalfBandwidthBound, Grid_ExceedsANarrowBand) {
  const PatternStorage grid = grid_pattern(60, 60);
  EXPECT_GT(half_bandwidth_bound(grid.view(), 10), 10);
  EXPECT_LE(half_bandwidth_bound(grid.view(), unlimited), 60);
}

/// The search follows rows only: from the middle of a chain, it meets the later half.
TEST(HalfBandwidthBound, UnsymmetricPattern_IsBounded) {
  std::vector<std::int64_t> begin = {0};
  std::vector<std::int32_t> columns;
  for (std::int32_t i = 0; i < 100; ++i) {
    for (std::int32_t j = i + 1; j <= std::min(99, i + 6); ++j) columns.push_back(j);
    begin.push_back(static_cast<std::int64_t>(columns.size()));
  }
  EXPECT_EQ(half_bandwidth_bound({100, begin, columns}, unlimited), 3);
}

TEST(StepsToMeet, Band_BothDirections) {
  std::vector<Edge> edges;
  for (std::int32_t i = 0; i + 1 < 1000; ++i) edges.emplace_back(i, i + 1);
  const PatternStorage path = pattern_of_edges(1000, std::move(edges));
  EXPECT_EQ(steps_to_meet(path.view(), 1), 0);
  EXPECT_EQ(steps_to_meet(path.view(), 3), 1);
  EXPECT_EQ(steps_to_meet(path.view(), 201), 100);
  EXPECT_EQ(steps_to_meet(path.view(), 5000), 618);
  EXPECT_EQ(steps_to_meet(pattern_of_edges(0, {}).view(), 5), 0);
}

TEST(StepsToMeet, Grids_SquareAndCubeRoot) {
  const auto grid = [](std::int32_t nx, std::int32_t ny, std::int32_t nz) {
    std::vector<Edge> edges;
    for (std::int32_t i = 0; i < nx * ny * nz; ++i) {
      if (i % nx + 1 < nx) edges.emplace_back(i, i + 1);
      if (i / nx % ny + 1 < ny) edges.emplace_back(i, i + nx);
      if (i / (nx * ny) + 1 < nz) edges.emplace_back(i, i + nx * ny);
    }
    return pattern_of_edges(nx * ny * nz, std::move(edges));
  };
  // 2 l (l + 1) + 1 points of a plane, and about 4 / 3 l^3 of space, are within l steps.
  EXPECT_EQ(steps_to_meet(grid(101, 101, 1).view(), 1861), 30);
  EXPECT_LE(steps_to_meet(grid(40, 40, 40).view(), 1861), 12);
}

}  // namespace
}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
#include "support/classical_coarsening.hpp"

#include "multigrid/coarsening/classical/interpolation.hpp"
#include "support/multigrid/coarsening_definitions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace echelon::test {
namespace {

using namespace multigrid::classical;  // NOLINT(google-build-using-namespace)

const std::vector<std::int64_t> sizes = {0, 1, 2, 31, 33, 257};

TEST(ClassicalCoarsening, Strength_FollowsDefinition) {
  for (const std::int64_t n : sizes) {
    for (const double max_row_sum : {0.9, 0.05}) {
      const auto A = random_connections<double>(n, 6, static_cast<unsigned>(n), 0.3);
      const Table a = table_of(A);
      const auto expected = strong_of(a, 0.25, max_row_sum);
      Host backend(Device::openmp(2));
      const Strength strength = find_strength(backend, A, 0.25, max_row_sum);
      std::int64_t dependences = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i);
        for (std::int64_t k = A.row_offsets()[row]; k < A.row_offsets()[row + 1]; ++k) {
          EXPECT_EQ(strength.strong[k] != 0, expected[i][static_cast<std::size_t>(A.column_indices()[k])]);
        }
        std::int64_t influences = 0;
        for (std::size_t j = 0; j < a.size(); ++j) influences += expected[j][i] ? 1 : 0;
        EXPECT_EQ(strength.influences[row], influences);
        const auto depends = std::count(expected[i].begin(), expected[i].end(), true);
        EXPECT_EQ(strength.is_isolated[row] != 0, depends == 0);
        dependences += depends;
      }
      EXPECT_EQ(strength.dependences, dependences);
    }
  }
}

TEST(ClassicalCoarsening, Strength_SignFollowsDiagonal) {
  // Row 1 is row 0 with all signs changed; row 2 has no diagonal.
  const auto A = Csr<double>::from_triplets(
      3, 3, {{0, 0, 2}, {0, 1, -1}, {0, 2, 1}, {1, 0, 1}, {1, 1, -2}, {1, 2, -1}, {2, 0, -1}, {2, 1, -1}});
  Host backend(Device::serial());
  const Strength strength = find_strength(backend, A, 0.25, 10);
  EXPECT_EQ(strength.strong.to_vector(), (std::vector<std::uint8_t>{0, 1, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(strength.is_isolated.to_vector(), (std::vector<std::uint8_t>{0, 0, 1}));
}

TEST(ClassicalCoarsening, Splitting_IsMaximalIndependentSet) {
  for (const std::int64_t n : {1, 31, 33, 257, 1025}) {
    const auto A = random_connections<double>(n, 5, static_cast<unsigned>(n) + 9);
    const auto strong = strong_of(table_of(A), 0.25, 0.9);
    for (const Device& device : coarsening_devices) {
      Host backend(device);
      Strength strength = find_strength(backend, A, 0.25, 0.9);
      const std::vector<std::int32_t> dependents = strength.influences.to_vector();
      split_points(backend, strength.view(A), n, strength.is_isolated.data(), false,
                   strength.influences.data());
      const std::vector<std::int32_t> states = strength.influences.to_vector();
      ASSERT_EQ(states, greedy_states(strong, false)) << n;
      for (std::size_t i = 0; i < states.size(); ++i) {
        bool has_coarse = false;
        for (std::size_t j = 0; j < states.size(); ++j) {
          if (!strong[i][j] || states[j] != coarse_point) continue;
          has_coarse = true;
          if (states[i] != coarse_point) continue;
          // Independent: i became coarse before j, on which it depends, and j does not depend on i.
          EXPECT_FALSE(strong[j][i]);
          const auto key = [&](std::size_t k) { return key_of(dependents[k], static_cast<std::int32_t>(k)); };
          EXPECT_GT(key(i), key(j));
        }
        // Maximal.
        EXPECT_TRUE(has_coarse || states[i] != fine_point || dependents[i] == 0);  // maximal
      }
      const Splitting splitting = number_coarse(backend, std::move(strength.influences));
      EXPECT_EQ(splitting.coarse_index.to_vector(), numbered(states));
      EXPECT_EQ(splitting.coarse, std::count(states.begin(), states.end(), coarse_point));
    }
  }
}

/// Keys ascend along a line, so that each point has to be decided before the one before it.
TEST(ClassicalCoarsening, Decisions_OnALongChain_AreThoseOfRounds) {
  constexpr std::int32_t n = 1000;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> neighbours;
  std::vector<std::int32_t> dependents;
  for (std::int32_t i = 0; i < n; ++i) {
    if (i > 0) neighbours.push_back(i - 1);
    if (i + 1 < n) neighbours.push_back(i + 1);
    offsets.push_back(static_cast<std::int64_t>(neighbours.size()));
    dependents.push_back(i + 1);
  }
  const DependenceView graph{offsets.data(), neighbours.data(), nullptr};
  for (const Device& device : coarsening_devices) {
    Host backend(device);
    std::vector<std::int32_t> in_rounds = dependents;
    decide_in_rounds(backend, graph, n, in_rounds.data());
    std::vector<std::int32_t> by_dependences = dependents;
    decide_by_dependences(backend, graph, n, by_dependences.data());
    EXPECT_EQ(by_dependences, in_rounds);
    for (std::size_t i = 0; i < in_rounds.size(); ++i) {
      ASSERT_EQ(in_rounds[i], i % 2 == 1 ? coarse_point : fine_point) << i;
    }
  }
}

TEST(ClassicalCoarsening, Decisions_OnRandomGraphs_AreThoseOfRounds) {
  for (const std::int64_t n : {31, 257, 1025}) {
    const auto A = random_connections<double>(n, 5, static_cast<unsigned>(n) + 21);
    for (const Device& device : coarsening_devices) {
      Host backend(device);
      const Strength strength = find_strength(backend, A, 0.25, 0.9);
      std::vector<std::int32_t> in_rounds = strength.influences.to_vector();
      std::vector<std::int32_t> by_dependences = in_rounds;
      decide_in_rounds(backend, strength.view(A), n, in_rounds.data());
      decide_by_dependences(backend, strength.view(A), n, by_dependences.data());
      EXPECT_EQ(by_dependences, in_rounds);
    }
  }
}

TEST(ClassicalCoarsening, SecondSplitting_IsOnPathsOfTwoSteps) {
  for (const std::int64_t n : {33, 257}) {
    const auto A = random_connections<double>(n, 3, static_cast<unsigned>(n) + 5);
    const auto strong = strong_of(table_of(A), 0.25, 0.9);
    Host backend(Device::openmp(2));
    Strength strength = find_strength(backend, A, 0.25, 0.9);
    const DependenceView graph = strength.view(A);
    split_points(backend, graph, n, strength.is_isolated.data(), false, strength.influences.data());
    const Splitting first = number_coarse(backend, std::move(strength.influences));
    const Array<std::int32_t> points = list_coarse(backend, first);
    const auto m = static_cast<std::size_t>(first.coarse);
    std::vector<std::vector<bool>> paths(m, std::vector<bool>(m, false));
    for (std::size_t c = 0; c < m; ++c) {
      for (std::size_t d = 0; d < m; ++d) {
        const auto i = static_cast<std::size_t>(points[static_cast<std::int64_t>(c)]);
        const auto j = static_cast<std::size_t>(points[static_cast<std::int64_t>(d)]);
        bool joins = strong[i][j];
        for (std::size_t k = 0; k < strong.size(); ++k) joins = joins || (strong[i][k] && strong[k][j]);
        paths[c][d] = c != d && joins;
      }
    }
    const PathVisitor visitor{graph, first.coarse_index.data(), points.data()};
    const SecondSplitting second = split_coarse(backend, visitor, first);
    EXPECT_EQ(second.coarse_index.to_vector(), numbered(greedy_states(paths, true)));
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int32_t number = first.coarse_index[i];
      EXPECT_EQ(second.of_points.coarse_index[i], number < 0 ? number : second.coarse_index[number]);
    }
  }
}

TEST(ClassicalCoarsening, PathsFromCoarsePoints_AreCountedUnlessRowsAreShort) {
  // A star with a ring: the hub's row is long, and every path over it counts.
  constexpr std::int32_t leaves = 40;
  std::vector<Triplet<double>> triplets = {{0, 0, leaves + 1.0}};
  for (std::int32_t i = 1; i <= leaves; ++i) {
    const std::int32_t next = i % leaves + 1;
    triplets.insert(triplets.end(), {{i, i, 4}, {0, i, -1}, {i, 0, -1}, {i, next, -1}, {next, i, -1}});
  }
  const auto A = Csr<double>::from_triplets(leaves + 1, leaves + 1, triplets);
  Host backend(Device::serial());
  Strength strength = find_strength(backend, A, 0.25, 0.9);
  const DependenceView graph = strength.view(A);
  Array<std::int32_t> states(Device(), leaves + 1);
  const std::vector<std::int32_t> coarse_at = {1, 3};
  for (std::int32_t i = 0; i <= leaves; ++i) states[i] = fine_point;
  for (const std::int32_t i : coarse_at) states[i] = coarse_point;
  const Splitting first = number_coarse(backend, std::move(states));
  const Array<std::int32_t> points = list_coarse(backend, first);
  const PathVisitor visitor{graph, first.coarse_index.data(), points.data()};
  // Rows of the neighbours of points 1 and 3: the hub's with 41 elements and two with 4, for each.
  constexpr std::int64_t paths = 2 * (leaves + 1 + 2 * 4);
  EXPECT_TRUE(are_paths_few(backend, visitor, leaves + 1, first.coarse, paths));
  EXPECT_FALSE(are_paths_few(backend, visitor, leaves + 1, first.coarse, paths - 1));
  EXPECT_TRUE(are_paths_few(backend, visitor, leaves + 1, first.coarse, (leaves + 1) * (leaves + 1) * 2));
}

}  // namespace
}  // namespace echelon::test

// SPDX-License-Identifier: BSD-3-Clause
#include "support/problems.hpp"

#include <echelon/echelon.hpp>

#include <gtest/gtest.h>

namespace echelon {
namespace {

TEST(Dependencies, KnownLevels) {
  const auto grid = analyze_dependencies<double>(generate::poisson_2d<double>(7, 5));
  for (const Dependencies& d : {grid.forward, grid.backward}) {
    EXPECT_EQ(d.levels, 7 + 5 - 1);
    EXPECT_EQ(d.launches, d.levels);
    EXPECT_EQ(d.total, 6 * 5 + 7 * 4);
    EXPECT_EQ(d.dependent_rows, 34);
    EXPECT_EQ(d.most, 2);
    EXPECT_EQ(d.largest_level, 5);
    EXPECT_EQ(d.smallest_level, 1);
    EXPECT_EQ(d.mean(35), 58.0 / 35);
  }
  test::Problem lower;  // an arrow whose shaft is the last row, and nothing above the diagonal
  lower.n = 100;
  for (std::int32_t i = 0; i < 100; ++i) {
    lower.elements.push_back({i, i, 1});
    if (i < 99) lower.elements.push_back({99, i, 1});
  }
  const auto arrow = analyze_dependencies<float>(lower.csr<float>());
  EXPECT_EQ(arrow.forward.levels, 2);
  EXPECT_EQ(arrow.forward.most, 99);
  EXPECT_EQ(arrow.forward.largest_level, 99);
  EXPECT_EQ(arrow.backward.levels, 1);
  EXPECT_EQ(arrow.backward.smallest_level, 100);
  EXPECT_EQ(analyze_dependencies<double>(Csr<double>()).forward.levels, 0);
  EXPECT_EQ(analyze_dependencies<double>(lower.dense<double>()).forward.levels, 100) << "zeros are stored";
  EXPECT_THROW(static_cast<void>(analyze_dependencies<double>(Csr<double>::from_triplets(2, 3, {}))),
               DimensionMismatch);
}

}  // namespace
}  // namespace echelon

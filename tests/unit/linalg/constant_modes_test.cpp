// SPDX-License-Identifier: BSD-3-Clause
/// Sums of rows over components, for few of them, which are summed where the rows are, and for many.
#include "linalg/constant_modes.hpp"

#include "backend/host/host.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace echelon {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// Rows whose sums are small integers, so that sums in any order are exact.
std::vector<RowSum> random_rows(std::size_t n) {
  std::mt19937 random(7);
  std::vector<RowSum> rows(n);
  for (RowSum& row : rows) {
    row.sum = static_cast<double>(random() % 7) - 3;
    row.diagonal = static_cast<double>(random() % 5);
    row.magnitudes = row.diagonal + static_cast<double>(random() % 9);
    row.largest = row.diagonal;
    row.rounding = static_cast<double>(random() % 2) * 2;
    row.is_exact = random() % 4 != 0;
  }
  return rows;
}

TEST(ConstantModes, FewAndManyComponents_SumsOfTheirRows) {
  constexpr std::size_t n = 20'000;
  const std::vector<RowSum> rows = random_rows(n);
  for (const std::int32_t count : {1, 2, 8, 9, 500}) {
    SCOPED_TRACE(count);
    std::mt19937 random(static_cast<unsigned>(count));
    std::vector<std::int32_t> component(n);
    for (std::int32_t& c : component) c = static_cast<std::int32_t>(random() % static_cast<unsigned>(count));
    Host backend(Device::openmp(3));
    const std::vector<ComponentSum> sums =
        sum_components(backend, Array<RowSum>(Device(), std::span<const RowSum>(rows)),
                       Array<std::int32_t>(Device(), std::span<const std::int32_t>(component)), count);
    ASSERT_EQ(sums.size(), static_cast<std::size_t>(count));
    for (std::int32_t c = 0; c < count; ++c) {
      const ComponentSum& sum = sums[static_cast<std::size_t>(c)];
      std::int64_t number = 0, inexact = 0, beyond = 0, within = 0;
      double energy = 0, squares = 0, magnitudes = 0, diagonal = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (component[i] != c) continue;
        const RowSum& row = rows[i];
        ++number;
        energy += row.sum;
        squares += row.sum * row.sum;
        magnitudes += row.magnitudes;
        diagonal += row.diagonal;
        if (!row.is_exact) ++inexact;
        if (std::abs(row.sum) > row.rounding) {
          ++beyond;
        } else if (row.sum != 0) {
          ++within;
        }
      }
      EXPECT_EQ(sum.rows, number);
      EXPECT_EQ(sum.energy, energy);
      EXPECT_EQ(sum.squares, squares);
      EXPECT_EQ(sum.magnitudes, magnitudes);
      EXPECT_EQ(sum.diagonal, diagonal);
      EXPECT_EQ(sum.inexact, inexact);
      EXPECT_EQ(sum.significantly_positive + sum.significantly_negative, beyond);
      EXPECT_EQ(sum.positive + sum.negative, within);
    }
  }
}

/// Components of zero sums are singular, a positive one is not, and one without elements is known as zero.
TEST(ConstantModes, ZeroSums_AreSingular) {
  const std::vector<RowSum> rows = {
      {.diagonal = 2, .magnitudes = 4, .largest = 2},
      {.diagonal = 2, .magnitudes = 4, .largest = 2},
      {.sum = 1, .diagonal = 3, .magnitudes = 5, .largest = 3, .rounding = epsilon},
      {}};
  const std::vector<std::int32_t> component = {0, 0, 1, 2};
  Host backend{Device()};
  const std::vector<ComponentSum> sums =
      sum_components(backend, Array<RowSum>(Device(), std::span<const RowSum>(rows)),
                     Array<std::int32_t>(Device(), std::span<const std::int32_t>(component)), 3);
  EXPECT_EQ(sums[0].mode(epsilon), ConstantMode::singular);
  EXPECT_EQ(sums[1].mode(epsilon), ConstantMode::regular);
  EXPECT_FALSE(sums[0].is_zero());
  EXPECT_TRUE(sums[2].is_zero());
}

}  // namespace
}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "relaxation/gauss_seidel/cuda/line_detection.hpp"

#include <echelon/generate.hpp>
#include <echelon/matrix/csr.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace echelon {
namespace {

using gauss_seidel::guess_line_length;

std::int32_t guess_from(const Csr<double>& A, std::int64_t row) {
  const std::int32_t* first = A.column_indices().data() + A.row_offsets().data()[row];
  const std::int32_t* last = A.column_indices().data() + A.row_offsets().data()[row + 1];
  const std::int32_t* diagonal = std::lower_bound(first, last, static_cast<std::int32_t>(row));
  return guess_line_length(A.rows(), diagonal - first,
                           [&](std::int64_t k) { return row - diagonal[-1 - k]; });
}

struct Grid {
  std::int64_t x, y, z;
  int points;
};

TEST(LineDetection, GridInterior_LengthOfX) {
  constexpr Grid grids[] = {{40, 70, 1, 5}, {33, 70, 1, 9}, {64, 9, 11, 7}, {37, 8, 9, 27}};
  for (const Grid& grid : grids) {
    const Csr<double> A = grid.z == 1 ? generate::poisson_2d<double>(grid.x, grid.y, grid.points)
                                      : generate::poisson_3d<double>(grid.x, grid.y, grid.z, grid.points);
    const std::int64_t line = grid.x * (grid.y * (grid.z / 2) + grid.y / 2);
    for (std::int64_t x = 1; x + 1 < grid.x; ++x) EXPECT_EQ(guess_from(A, line + x), grid.x) << x;
  }
}

TEST(LineDetection, OtherPatterns_NoLength) {
  const auto guess = [](const std::vector<std::int32_t>& lower) {
    const auto distance = [&](std::int64_t k) {
      return 10'000 - lower[lower.size() - 1 - static_cast<std::size_t>(k)];
    };
    return guess_line_length(20'000, static_cast<std::int64_t>(lower.size()), distance);
  };
  EXPECT_EQ(guess({9900, 9999}), 100);
  EXPECT_EQ(guess({}), 0);
  EXPECT_EQ(guess({9997, 9998, 9999}), 0);                          // a band
  EXPECT_EQ(guess({8000, 9000}), 0);                                // no neighbour
  EXPECT_EQ(guess({9990, 9999}), 0);                                // too short
  EXPECT_EQ(guess({5000, 9999}), 0);                                // too few
  EXPECT_EQ(guess({9898, 9899, 9900, 9901, 9902, 9998, 9999}), 0);  // too many neighbours
}

}  // namespace
}  // namespace echelon

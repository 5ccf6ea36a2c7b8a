// SPDX-License-Identifier: BSD-3-Clause
/// Matrices whose rows lie in lines, as the points of a grid do when they are numbered along x, then along y,
/// then along z. Columns of some rows show how long the lines are. What is found is a matter of speed alone:
/// a sweep along lines is right for every pattern and every length of lines.
#pragma once

#include <echelon/annotate.hpp>

#include <cstdint>

namespace echelon::gauss_seidel {

/// Lines are at least so long, and there are at least so many of them.
inline constexpr std::int32_t shortest_line = 16;
inline constexpr std::int32_t fewest_lines = 64;

/// Elements left of a row's diagonal in its own line and the few lines before: more make a sweep along lines
/// slow.
inline constexpr int lower_at_hand = 4;

/// The length of lines that the columns left of a row's diagonal suggest, which ascend; 0: none. Neighbours
/// on the line come first, counted from the diagonal; then those in the line before, around the same place.
ECHELON_ANYWHERE inline std::int32_t guess_line_length(std::int64_t rows, std::int64_t row,
                                                       const std::int32_t* lower, std::int64_t count) {
  const auto distance = [&](std::int64_t k) { return row - lower[count - 1 - k]; };
  std::int64_t beside = 0;
  while (beside < count && distance(beside) == beside + 1) ++beside;
  if (beside == 0 || beside == count) return 0;
  const std::int64_t nearest = distance(beside);
  std::int64_t furthest = nearest;
  for (std::int64_t k = beside; k < count && distance(k) <= nearest + 2 * beside; ++k) furthest = distance(k);
  const std::int64_t length = (nearest + furthest) / 2;
  if (length < shortest_line || length > rows / fewest_lines) return 0;
  if (count > lower_at_hand && distance(lower_at_hand) < 4 * length) return 0;
  return static_cast<std::int32_t>(length);
}

}  // namespace echelon::gauss_seidel

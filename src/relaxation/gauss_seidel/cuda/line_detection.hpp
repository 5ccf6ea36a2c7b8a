// SPDX-License-Identifier: BSD-3-Clause
/// Detection of lines: the rows of a grid whose points are numbered along x, then y, then z form lines of
/// equal length. The columns of a few rows suggest that length. The result affects speed only: a sweep along
/// lines is correct for every pattern and every line length.
#pragma once

#include <echelon/annotate.hpp>

#include <cstdint>

namespace echelon::gauss_seidel {

/// Lower limits on the length and number of lines.
inline constexpr std::int32_t min_line_length = 16;
inline constexpr std::int32_t min_lines = 64;

/// Rows with more elements left of the diagonal in their own line and the few lines before make a sweep along
/// lines slow.
inline constexpr int max_lower_nearby = 4;

/// The line length that the columns left of a row's diagonal suggest (`lower`, ascending), or 0 for none.
/// Counted from the diagonal, neighbours on the same line come first, then those on the line before, around
/// the same point.
ECHELON_ANYWHERE inline std::int32_t guess_line_length(std::int64_t rows, std::int64_t row,
                                                       const std::int32_t* lower, std::int64_t count) {
  const auto distance = [&](std::int64_t k) { return row - lower[count - 1 - k]; };
  std::int64_t adjacent = 0;
  while (adjacent < count && distance(adjacent) == adjacent + 1) ++adjacent;
  if (adjacent == 0 || adjacent == count) return 0;
  const std::int64_t nearest = distance(adjacent);
  std::int64_t furthest = nearest;
  for (std::int64_t k = adjacent; k < count && distance(k) <= nearest + 2 * adjacent; ++k)
    furthest = distance(k);
  const std::int64_t length = (nearest + furthest) / 2;
  if (length < min_line_length || length > rows / min_lines) return 0;
  if (count > max_lower_nearby && distance(max_lower_nearby) < 4 * length) return 0;
  return static_cast<std::int32_t>(length);
}

}  // namespace echelon::gauss_seidel

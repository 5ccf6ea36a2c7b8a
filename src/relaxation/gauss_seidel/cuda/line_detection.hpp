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

/// The line length that a row's elements on one side of the diagonal suggest, or 0 for none. distance(k) is
/// the number of rows to element k < count, counted from the diagonal: neighbours on the same line come
/// first, then those on the adjacent line, around the same point.
template <class Distance>
ECHELON_ANYWHERE std::int32_t guess_line_length(std::int64_t rows, std::int64_t count,
                                                const Distance& distance) {
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

// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/stencil/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace echelon {

std::string to_string(const Grid& grid) {
  std::string text = std::to_string(grid.points[0]);
  for (std::size_t d = 1; d < 3; ++d) {
    if (grid.points[d] > 1 || (d == 1 && grid.points[2] > 1)) text += fmt::format("x{}", grid.points[d]);
  }
  return text;
}

std::optional<Grid> parse_grid(std::string_view text) {
  Grid grid;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::int64_t& points : grid.points) {
    const auto [after, error] = std::from_chars(at, end, points);
    if (error != std::errc() || points < 1 || points > INT32_MAX) return {};
    if (after == end) return grid;
    if (*after != 'x') return {};
    at = after + 1;
  }
  return {};
}

std::optional<Grid> recognise_grid(std::int64_t n, const std::vector<std::int32_t>& first_row) {
  if (first_row.size() < 2 || first_row[0] != 0 || first_row[1] != 1) return {};
  if (first_row.size() == 2) return Grid{{n, 1, 1}};
  const std::int64_t row = first_row[2];
  const auto other_plane =
      std::find_if(first_row.begin(), first_row.end(), [&](std::int32_t column) { return column > row + 1; });
  const std::int64_t plane = other_plane == first_row.end() ? n : *other_plane;
  if (plane % row != 0 || n % plane != 0) return {};
  for (const std::int64_t column : first_row) {
    const std::int64_t in_plane = column >= plane ? column - plane : column;
    const std::int64_t in_row = in_plane >= row ? in_plane - row : in_plane;
    if (in_row > 1) return {};
  }
  return Grid{{row, plane / row, n / plane}};
}

}  // namespace echelon

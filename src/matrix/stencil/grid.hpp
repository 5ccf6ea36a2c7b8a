// SPDX-License-Identifier: BSD-3-Clause
/// Grids of points in one to three dimensions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

/// points[0] x points[1] x points[2] points; the first dimension is numbered fastest. Along a periodic axis,
/// of three points or more, the last point and the first one are neighbours.
struct Grid {
  std::array<std::int64_t, 3> points = {1, 1, 1};
  std::array<bool, 3> periodic = {false, false, false};

  [[nodiscard]] std::int64_t size() const { return points[0] * points[1] * points[2]; }
  /// Every other point in each dimension.
  [[nodiscard]] Grid coarse() const {
    Grid result;
    for (std::size_t d = 0; d < 3; ++d) result.points[d] = points[d] > 1 ? points[d] / 2 : 1;
    return result;
  }
  friend bool operator==(const Grid&, const Grid&) = default;
};

/// Formats the sizes of a grid, as "100x80x60".
[[nodiscard]] std::string to_string(const Grid& grid);
/// Parses "100", "100x80" or "100x80x60"; empty if the text has another form.
[[nodiscard]] std::optional<Grid> parse_grid(std::string_view text);

/// Grids that a matrix of n rows may have by the ascending columns of its first row, which connects the first
/// point of the grid to its neighbours in a stencil of 3, 5, 7, 9 or 27 points, with the axes that the row
/// shows to be periodic. Columns m and m + 1 are the ends of two lines of a periodic axis, or neighbours in
/// the next line: several grids may match.
[[nodiscard]] std::vector<Grid> recognise_grids(std::int64_t n, const std::vector<std::int32_t>& first_row);
/// Largest number of nonzeros of the first row: that of the 27-point stencil with periodic axes.
inline constexpr std::int64_t largest_first_row = 27;

}  // namespace echelon

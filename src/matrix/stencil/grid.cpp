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

namespace {

/// Sizes that an axis may have, by the first point's neighbours: ascending numbers of points along this axis
/// and those that are numbered more slowly, in all `count`. The first point is 0 and the next one 1; the
/// number that follows is that of the next line, or one less where the axis is periodic.
std::vector<std::int64_t> axis_sizes(std::int64_t count, const std::vector<std::int64_t>& numbers) {
  if (numbers.size() < 2 || numbers[1] != 1) return {};
  if (numbers.size() == 2) return {count};
  return {numbers[2], numbers[2] + 1};
}

/// Numbers of the lines of `points` points in which the numbers lie, ascending; empty if one of them is no
/// neighbour of the first point along the line. Sets `periodic` if the last point of the first line is one.
std::vector<std::int64_t> lines_of(const std::vector<std::int64_t>& numbers, std::int64_t points,
                                   bool& periodic) {
  std::vector<std::int64_t> lines;
  periodic = false;
  for (const std::int64_t number : numbers) {
    const std::int64_t at = number % points;
    const bool is_last = points > 2 && at + 1 == points;
    periodic = periodic || (is_last && number == at);
    if (at > 1 && !(is_last && periodic)) return {};
    if (lines.empty() || lines.back() != number / points) lines.push_back(number / points);
  }
  return lines;
}

/// Adds the grids whose axes from `axis` on have `count` points and connect the first one to those with
/// these numbers.
void add_grids(Grid grid, std::size_t axis, std::int64_t count, const std::vector<std::int64_t>& numbers,
               std::vector<Grid>& grids) {
  if (numbers.size() == 1) {
    if (count == 1) grids.push_back(grid);
    return;
  }
  if (axis == 3) return;
  for (const std::int64_t size : axis_sizes(count, numbers)) {
    if (size > count || count % size != 0) continue;
    bool periodic = false;
    const std::vector<std::int64_t> lines = lines_of(numbers, size, periodic);
    if (lines.empty()) continue;
    grid.points[axis] = size;
    grid.periodic[axis] = periodic;
    add_grids(grid, axis + 1, count / size, lines, grids);
  }
}

}  // namespace

std::vector<Grid> recognise_grids(std::int64_t n, const std::vector<std::int32_t>& first_row) {
  std::vector<Grid> grids;
  if (first_row.size() > 1) add_grids({}, 0, n, {first_row.begin(), first_row.end()}, grids);
  return grids;
}

}  // namespace echelon

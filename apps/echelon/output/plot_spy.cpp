// SPDX-License-Identifier: BSD-3-Clause
#include "output/plots.hpp"
#include "output/spy_grid.hpp"
#include "output/svg.hpp"
#include "terminal/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace echelon::tool {

namespace {

constexpr double longer_side = 560;  // longer side of the frame, in pixels
constexpr double largest_aspect_ratio = 4;

/// Empty frame at the place of the matrix.
Frame first_frame() {
  return {96, 112, longer_side, longer_side};
}

Frame fitting_frame(double rows, double columns) {
  Frame frame = first_frame();
  const double ratio = std::clamp(columns / rows, 1 / largest_aspect_ratio, largest_aspect_ratio);
  if (ratio < 1) frame.width = longer_side * ratio;
  if (ratio > 1) frame.height = longer_side / ratio;
  return frame;
}

/// Columns first, ..., end - 1 of a matrix, and the number of them in each column of cells.
class ColumnRun {
 public:
  ColumnRun(const Grid& grid, std::int64_t first, std::int64_t end) {
    for (std::int64_t column = first; column < end; ++column) {
      if (columns_.empty() || grid.cell_column(columns_.back().first) != grid.cell_column(column)) {
        columns_.emplace_back(column, 0);
      }
      ++columns_.back().second;
    }
  }

  /// Adds entries in a row of L and, if asked for, those of the same column of U.
  void add_to(Grid& grid, std::int64_t row, bool upper) const {
    for (const auto& [column, number] : columns_) {
      grid.add(row, column, number);
      if (upper) grid.add(column, row, number);
    }
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> columns_;  // a column of each cell, and its column count
};

/// Entries of L, or of L and U.
Grid count_factor(const Frame& frame, const FactorPattern& factor) {
  const auto n = static_cast<std::int64_t>(factor.row_permutation.size());
  const bool upper = !factor.prediction.symmetric;
  Grid grid = grid_of(frame, n, n);
  for (std::size_t s = 0; s + 1 < factor.supernode_begin.size(); ++s) {
    const std::int64_t first = factor.supernode_begin[s];
    const std::int64_t end = factor.supernode_begin[s + 1];
    for (std::int64_t row = first; row < end; ++row) {
      grid.add(row, row);
      if (row > first) ColumnRun(grid, first, row).add_to(grid, row, upper);
    }
    const ColumnRun columns(grid, first, end);
    for (std::int64_t k = factor.row_begin[s]; k < factor.row_begin[s + 1]; ++k) {
      columns.add_to(grid, factor.rows[static_cast<std::size_t>(k)], upper);
    }
  }
  return grid;
}

void draw_axes(Svg& svg, const Frame& frame, double rows, double columns) {
  const auto ticks = [](double count, double length) {
    return round_ticks(std::max(0.0, count - 1), std::max(2, static_cast<int>(length / 90)));
  };
  for (const double tick : ticks(columns, frame.width)) {
    const double x = frame.x + (tick + 0.5) / columns * frame.width;
    svg.line({x, frame.y - 5}, {x, frame.y}, "axis");
    svg.text({x, frame.y - 10}, grouped(std::llround(tick)), "tick");
  }
  for (const double tick : ticks(rows, frame.height)) {
    const double y = frame.y + (tick + 0.5) / rows * frame.height;
    svg.line({frame.x - 5, y}, {frame.x, y}, "axis");
    svg.text({frame.x - 10, y + 4.5}, grouped(std::llround(tick)), "tick", Svg::Anchor::end);
  }
  svg.text({frame.x + frame.width / 2, frame.y - 32}, "column", "label");
  const double beside_numbers = 24 + 8 * static_cast<double>(grouped(std::llround(rows)).size());
  svg.vertical_text({frame.x - beside_numbers, frame.y + frame.height / 2}, "row", "label");
  svg.rectangle({frame.x, frame.y}, frame.width, frame.height, "frame");
}

/// Draws the scale of the shades below the frame.
void draw_legend(Svg& svg, const Frame& frame, const Grid& grid) {
  const std::int64_t largest = *std::max_element(grid.counts.begin(), grid.counts.end());
  if (largest <= 1) return;
  const double y = frame.y + frame.height + 18;
  double x = frame.x;
  svg.text({x, y + 11}, "1", "tick", Svg::Anchor::start);
  x += 14;
  for (const double shade : spy_shades()) {
    svg.cells({x, y}, 22, 14, "M0 0h1v1h-1z", shade);
    x += 22;
  }
  svg.text({x + 6, y + 11},
           fmt::format("{} nonzeros in a cell of {:.3g} \u00d7 {:.3g}", grouped(largest), grid.rows_per_cell,
                       grid.columns_per_cell),
           "tick", Svg::Anchor::start);
}

/// Rows and columns of a matrix, at least one of each.
struct Shape {
  double rows;
  double columns;

  Shape(std::int64_t m, std::int64_t n)
      : rows(static_cast<double>(std::max<std::int64_t>(m, 1))),
        columns(static_cast<double>(std::max<std::int64_t>(n, 1))) {}
  [[nodiscard]] double density(std::int64_t nonzeros) const {
    return static_cast<double>(nonzeros) / (rows * columns);
  }
};

std::string picture(const std::string& title, const std::string& caption, Frame frame, const Grid& grid,
                    const Shape& shape) {
  const double full_width = std::max(frame.x + frame.width + 40, 480.0);
  const Heading heading(title, caption, full_width - frame.x - 20);
  frame.y += heading.extra_height();
  Svg svg(full_width, frame.y + frame.height + 52, title);
  heading.draw(svg, frame.x);
  draw_cells(svg, frame, grid);
  draw_axes(svg, frame, shape.rows, shape.columns);
  draw_legend(svg, frame, grid);
  return svg.finish();
}

}  // namespace

template <class T>
std::string spy_svg(const std::string& title, MatrixRef<T> A) {
  const Shape shape(A.rows(), A.columns());
  const Frame frame = fitting_frame(shape.rows, shape.columns);
  const Grid grid = count_nonzeros(frame, A);
  const std::string caption =
      fmt::format("{} \u00d7 {}, {} nonzeros ({:.2g} %)", grouped(A.rows()), grouped(A.columns()),
                  grouped(grid.nonzeros), 100 * shape.density(grid.nonzeros));
  return picture(title, caption, frame, grid, shape);
}

std::string factor_svg(const std::string& title, const FactorPattern& factor) {
  const auto n = static_cast<std::int64_t>(factor.row_permutation.size());
  const Shape shape(n, n);
  const Frame frame = fitting_frame(shape.rows, shape.columns);
  const Grid grid = count_factor(frame, factor);
  const char* name = factor.prediction.symmetric ? "L" : "L and U";
  const std::string caption = fmt::format("{} of {} \u00d7 {} with ordering {}, {} stored entries ({:.2g} %)",
                                          name, grouped(n), grouped(n), factor.prediction.ordering,
                                          grouped(grid.nonzeros), 100 * shape.density(grid.nonzeros));
  return picture(title, caption, frame, grid, shape);
}

template std::string spy_svg<double>(const std::string&, MatrixRef<double>);

}  // namespace echelon::tool

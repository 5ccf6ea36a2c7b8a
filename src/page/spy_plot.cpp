// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "page/layouts.hpp"
#include "page/spy_grid.hpp"
#include "page/svg.hpp"
#include "support/text.hpp"

#include <echelon/solver/report_rows.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace echelon {

namespace {

constexpr double largest_aspect_ratio = 4;

/// Frame for a matrix of this shape; the heading, if there is one, is above it.
PlotFrame fitting_frame(double rows, double columns, const SpyLayout& layout) {
  constexpr double heading_height = 58;
  PlotFrame frame = {96, layout.has_heading ? 54 + heading_height : 54, layout.side, layout.side};
  const double ratio = std::clamp(columns / rows, 1 / largest_aspect_ratio, largest_aspect_ratio);
  if (ratio < 1) frame.width = layout.side * ratio;
  if (ratio > 1) frame.height = layout.side / ratio;
  return frame;
}

/// Columns first, ..., end - 1 of a matrix, and the number of them in each column of cells.
class ColumnRun {
 public:
  ColumnRun(const SpyGrid& grid, std::int64_t first, std::int64_t end) {
    for (std::int64_t column = first; column < end; ++column) {
      if (columns_.empty() || grid.cell_column(columns_.back().first) != grid.cell_column(column)) {
        columns_.emplace_back(column, 0);
      }
      ++columns_.back().second;
    }
  }

  /// Adds entries in a row of L and, if asked for, those of the same column of U.
  void add_to(SpyGrid& grid, std::int64_t row, bool upper) const {
    for (const auto& [column, number] : columns_) {
      grid.add(row, column, number);
      if (upper) grid.add(column, row, number);
    }
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> columns_;  // a column of each cell, and its column count
};

/// Entries of L, or of L and U.
SpyGrid count_factor(const PlotFrame& frame, const FactorPattern& factor) {
  const auto n = static_cast<std::int64_t>(factor.row_permutation.size());
  const bool upper = !factor.prediction.symmetric;
  SpyGrid grid = grid_of(frame, n, n);
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

void draw_axes(Svg& svg, const PlotFrame& frame, double rows, double columns) {
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
void draw_legend(Svg& svg, const PlotFrame& frame, const SpyGrid& grid) {
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
struct PlottedShape {
  double rows;
  double columns;

  PlottedShape(std::int64_t m, std::int64_t n)
      : rows(static_cast<double>(std::max<std::int64_t>(m, 1))),
        columns(static_cast<double>(std::max<std::int64_t>(n, 1))) {}
  [[nodiscard]] double density(std::int64_t nonzeros) const {
    return static_cast<double>(nonzeros) / (rows * columns);
  }
};

std::string picture(const PlotText& text, PlotFrame frame, const SpyGrid& grid, const PlottedShape& shape,
                    bool has_heading) {
  const double full_width = std::max(frame.x + frame.width + 40, 480.0);
  const PlotHeading heading(text.title, text.caption, full_width - frame.x - 20);
  if (has_heading) frame.y += heading.extra_height();
  Svg svg(full_width, frame.y + frame.height + 52, text.title);
  if (has_heading) heading.draw(svg, frame.x);
  draw_cells(svg, frame, grid);
  draw_axes(svg, frame, shape.rows, shape.columns);
  draw_legend(svg, frame, grid);
  return svg.finish();
}

}  // namespace

template <class T>
std::string draw_spy(const std::string& title, MatrixRef<T> A, const SpyLayout& layout) {
  const PlottedShape shape(A.rows(), A.columns());
  const PlotFrame frame = fitting_frame(shape.rows, shape.columns, layout);
  const SpyGrid grid = count_nonzeros(frame, A);
  const std::string caption =
      fmt::format("{} \u00d7 {}, {} nonzeros ({:.2g} %)", grouped(A.rows()), grouped(A.columns()),
                  grouped(grid.nonzeros), 100 * shape.density(grid.nonzeros));
  return picture({title, caption}, frame, grid, shape, layout.has_heading);
}

std::string draw_factor(const std::string& title, const FactorPattern& factor, const SpyLayout& layout) {
  const auto n = static_cast<std::int64_t>(factor.row_permutation.size());
  const PlottedShape shape(n, n);
  const PlotFrame frame = fitting_frame(shape.rows, shape.columns, layout);
  const SpyGrid grid = count_factor(frame, factor);
  const char* name = factor.prediction.symmetric ? "L" : "L and U";
  const std::string caption = fmt::format("{} of {} \u00d7 {} with ordering {}, {} stored entries ({:.2g} %)",
                                          name, grouped(n), grouped(n), factor.prediction.ordering,
                                          grouped(grid.nonzeros), 100 * shape.density(grid.nonzeros));
  return picture({title, caption}, frame, grid, shape, layout.has_heading);
}

template <class T>
std::string spy_svg(const std::string& title, MatrixRef<T> A) {
  return at_api_boundary([&] { return draw_spy(title, A, {}); });
}

std::string factor_svg(const std::string& title, const FactorPattern& factor) {
  return at_api_boundary([&] { return draw_factor(title, factor, {}); });
}

template std::string draw_spy(const std::string&, MatrixRef<float>, const SpyLayout&);
template std::string draw_spy(const std::string&, MatrixRef<double>, const SpyLayout&);
template std::string spy_svg(const std::string&, MatrixRef<float>);
template std::string spy_svg(const std::string&, MatrixRef<double>);

}  // namespace echelon

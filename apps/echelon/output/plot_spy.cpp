// SPDX-License-Identifier: BSD-3-Clause
#include "output/plots.hpp"
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

constexpr double longer_side = 560;  // of the frame, in pixels
constexpr double smallest_cell = 2;
constexpr double largest_aspect_ratio = 4;
constexpr std::array shades = {0.50, 0.60, 0.70, 0.80, 0.90, 1.0};

/// The rectangle that stands for the matrix, in pixels.
struct Frame {
  double x = 96;
  double y = 112;
  double width = longer_side;
  double height = longer_side;
};

Frame fitting_frame(double rows, double columns) {
  Frame frame;
  const double ratio = std::clamp(columns / rows, 1 / largest_aspect_ratio, largest_aspect_ratio);
  if (ratio < 1) frame.width = longer_side * ratio;
  if (ratio > 1) frame.height = longer_side / ratio;
  return frame;
}

/// The number of nonzeros in each cell of a grid; a cell is a block of the matrix.
struct Grid {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  double rows_per_cell = 1;
  double columns_per_cell = 1;
  std::vector<std::int64_t> counts;
  std::int64_t nonzeros = 0;

  [[nodiscard]] std::int64_t count(std::int64_t i, std::int64_t j) const {
    return counts[static_cast<std::size_t>(i * columns + j)];
  }
  [[nodiscard]] std::int64_t cell_row(std::int64_t row) const {
    return std::min(rows - 1, static_cast<std::int64_t>(static_cast<double>(row) / rows_per_cell));
  }
  [[nodiscard]] std::int64_t cell_column(std::int64_t column) const {
    return std::min(columns - 1, static_cast<std::int64_t>(static_cast<double>(column) / columns_per_cell));
  }
  void add(std::int64_t row, std::int64_t column, std::int64_t number = 1) {
    counts[static_cast<std::size_t>(cell_row(row) * columns + cell_column(column))] += number;
    nonzeros += number;
  }
};

/// The empty grid of a matrix.
Grid grid_of(const Frame& frame, std::int64_t rows, std::int64_t columns) {
  const auto most = [](double length) { return static_cast<std::int64_t>(length / smallest_cell); };
  Grid grid;
  grid.rows = std::clamp<std::int64_t>(rows, 1, most(frame.height));
  grid.columns = std::clamp<std::int64_t>(columns, 1, most(frame.width));
  grid.rows_per_cell = std::max(1.0, static_cast<double>(rows) / static_cast<double>(grid.rows));
  grid.columns_per_cell = std::max(1.0, static_cast<double>(columns) / static_cast<double>(grid.columns));
  grid.counts.assign(static_cast<std::size_t>(grid.rows * grid.columns), 0);
  return grid;
}

template <class T>
Grid count_nonzeros(const Frame& frame, MatrixRef<T> A) {
  Grid grid = grid_of(frame, A.rows(), A.columns());
  if (const Csr<T>* csr = A.csr()) {
    for (std::int64_t i = 0; i < csr->rows(); ++i) {
      for (std::int64_t k = csr->row_offsets()[i]; k < csr->row_offsets()[i + 1]; ++k) {
        if (csr->values()[k] != T{0}) grid.add(i, csr->column_indices()[k]);
      }
    }
    return grid;
  }
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      if (A.dense()(i, j) != T{0}) grid.add(i, j);
    }
  }
  return grid;
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
  std::vector<std::pair<std::int64_t, std::int64_t>> columns_;  // one column of each cell, and their number
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

/// 0 for an empty cell, else 1 to shades.size(), by the logarithm of the count: densities differ widely.
std::size_t shade_of(std::int64_t count, std::int64_t largest) {
  if (count == 0) return 0;
  if (largest == 1) return shades.size();
  const double fraction = std::log(static_cast<double>(count)) / std::log(static_cast<double>(largest));
  return 1 + static_cast<std::size_t>(std::lround(fraction * static_cast<double>(shades.size() - 1)));
}

/// Draws one path per shade; adjacent cells of a row and shade are one rectangle.
void draw_cells(Svg& svg, const Frame& frame, const Grid& grid) {
  const std::int64_t largest = *std::max_element(grid.counts.begin(), grid.counts.end());
  const double w = frame.width / static_cast<double>(grid.columns);
  const double h = frame.height / static_cast<double>(grid.rows);
  const double gap = std::min(w, h) > 6 ? 0.12 : 0;  // keeps single elements apart
  std::array<std::string, shades.size()> paths;
  for (std::int64_t i = 0; i < grid.rows; ++i) {
    for (std::int64_t j = 0; j < grid.columns;) {
      const std::size_t shade = shade_of(grid.count(i, j), largest);
      std::int64_t end = j + 1;
      while (gap == 0 && end < grid.columns && shade_of(grid.count(i, end), largest) == shade) ++end;
      if (shade > 0) {
        const double run = static_cast<double>(end - j) - gap;
        fmt::format_to(std::back_inserter(paths.at(shade - 1)), "M{:g} {:g}h{:g}v{:g}h{:g}z",
                       static_cast<double>(j) + gap / 2, static_cast<double>(i) + gap / 2, run, 1 - gap,
                       -run);
      }
      j = end;
    }
  }
  for (std::size_t s = 0; s < shades.size(); ++s) {
    if (!paths.at(s).empty()) svg.cells({frame.x, frame.y}, w, h, paths.at(s), shades.at(s));
  }
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
  for (const double shade : shades) {
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

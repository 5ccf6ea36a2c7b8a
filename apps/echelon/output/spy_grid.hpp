// SPDX-License-Identifier: BSD-3-Clause
/// Sparsity patterns as grids of cells, each a block of the matrix, shaded by the number of its nonzeros.
#pragma once

#include "output/svg.hpp"

#include <echelon/matrix/matrix.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::tool {

/// The rectangle that stands for the matrix, in pixels.
struct Frame {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

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
[[nodiscard]] Grid grid_of(const Frame& frame, std::int64_t rows, std::int64_t columns);

template <class T>
[[nodiscard]] Grid count_nonzeros(const Frame& frame, MatrixRef<T> A);

/// Opacities of cells, from few nonzeros to many.
[[nodiscard]] std::span<const double> spy_shades();

/// Draws one path per shade; adjacent cells of a row and shade are one rectangle.
void draw_cells(Svg& svg, const Frame& frame, const Grid& grid);

}  // namespace echelon::tool

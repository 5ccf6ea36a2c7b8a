// SPDX-License-Identifier: BSD-3-Clause
/// Sparsity patterns as grids of cells, each a block of the matrix, shaded by the number of its nonzeros.
#pragma once

#include "page/svg.hpp"

#include <echelon/matrix/matrix.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon {

/// The rectangle that stands for the matrix, in pixels.
struct PlotFrame {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

/// The number of nonzeros in each cell of a grid; a cell is a block of the matrix.
struct SpyGrid {
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
[[nodiscard]] SpyGrid grid_of(const PlotFrame& frame, std::int64_t rows, std::int64_t columns);

template <class T>
[[nodiscard]] SpyGrid count_nonzeros(const PlotFrame& frame, const MatrixRef<T>& A);

/// Opacities of cells, from few nonzeros to many.
[[nodiscard]] std::span<const double> spy_shades();

/// Draws one path per shade; adjacent cells of a row and shade are one rectangle.
void draw_cells(Svg& svg, const PlotFrame& frame, const SpyGrid& grid);

}  // namespace echelon

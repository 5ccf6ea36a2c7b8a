// SPDX-License-Identifier: BSD-3-Clause
#include "page/spy_grid.hpp"

#include "matrix/host_copy.hpp"
#include "matrix/rows.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <string>

namespace echelon {

namespace {

constexpr double smallest_cell = 2;
constexpr std::array shades = {0.50, 0.60, 0.70, 0.80, 0.90, 1.0};

/// Shade of a cell: 0 if it is empty, otherwise 1 to shades.size() by the logarithm of its count, because
/// densities differ by orders of magnitude.
std::size_t shade_of(std::int64_t count, std::int64_t largest) {
  if (count == 0) return 0;
  if (largest == 1) return shades.size();
  const double fraction = std::log(static_cast<double>(count)) / std::log(static_cast<double>(largest));
  return 1 + static_cast<std::size_t>(std::lround(fraction * static_cast<double>(shades.size() - 1)));
}

}  // namespace

SpyGrid grid_of(const PlotFrame& frame, std::int64_t rows, std::int64_t columns) {
  const auto most = [](double length) { return static_cast<std::int64_t>(length / smallest_cell); };
  SpyGrid grid;
  grid.rows = std::clamp<std::int64_t>(rows, 1, most(frame.height));
  grid.columns = std::clamp<std::int64_t>(columns, 1, most(frame.width));
  grid.rows_per_cell = std::max(1.0, static_cast<double>(rows) / static_cast<double>(grid.rows));
  grid.columns_per_cell = std::max(1.0, static_cast<double>(columns) / static_cast<double>(grid.columns));
  grid.counts.assign(static_cast<std::size_t>(grid.rows * grid.columns), 0);
  return grid;
}

template <class T>
SpyGrid count_nonzeros(const PlotFrame& frame, const MatrixRef<T>& A) {
  const HostCopy<T> host(A);
  SpyGrid grid = grid_of(frame, A.rows(), A.columns());
  with_rows(host.matrix(), [&](const auto& rows) {
    for (std::int64_t i = 0; i < A.rows(); ++i) {
      for (std::int64_t k = rows.begin(i); k < rows.end(i); ++k) {
        if (rows.value(i, k) != T{0}) grid.add(i, rows.column(k));
      }
    }
  });
  return grid;
}

template SpyGrid count_nonzeros(const PlotFrame&, const MatrixRef<float>&);
template SpyGrid count_nonzeros(const PlotFrame&, const MatrixRef<double>&);

std::span<const double> spy_shades() {
  return shades;
}

void draw_cells(Svg& svg, const PlotFrame& frame, const SpyGrid& grid) {
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

}  // namespace echelon

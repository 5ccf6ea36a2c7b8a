// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "page/spy_grid.hpp"
#include "page/svg.hpp"
#include "support/text.hpp"

#include <echelon/page/plots.hpp>
#include <echelon/solver/report_rows.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

namespace {

constexpr double tile_side = 168;  // side of a level's picture, in pixels
constexpr double side_margin = 28;
constexpr double tile_gap = 48;
constexpr double figure_height = 17;
constexpr double bar_height = 9;
constexpr double tile_height = tile_side + 8 * figure_height;
constexpr std::size_t tiles_per_row = 4;

/// Draws a level's pattern, if A is given, its figures, and its nonzeros as a part of all levels'.
void draw_level(Svg& svg, const HierarchyDescription& description, std::size_t l, const Csr<double>* A,
                SvgPoint corner) {
  const LevelDescription& level = description.levels[l];
  const PlotFrame frame = {corner.x, corner.y + figure_height, tile_side, tile_side};
  const double per_row =
      static_cast<double>(level.nonzeros) / static_cast<double>(std::max<std::int64_t>(level.rows, 1));
  svg.text({corner.x, corner.y + 10}, fmt::format("level {}: {}", l, level.method), "label",
           Svg::Anchor::start);
  if (A != nullptr) draw_cells(svg, frame, count_nonzeros(frame, MatrixRef<double>(*A)));
  svg.rectangle({frame.x, frame.y}, frame.width, frame.height, "frame");
  const std::vector<std::string> lines = {
      fmt::format("{} rows", grouped(level.rows)),
      fmt::format("{} nonzeros, {:.1f} a row", grouped(level.nonzeros), per_row),
      level.prolongation_nonzeros == 0
          ? fmt::format("{}", byte_count(level.bytes))
          : fmt::format("{}; P: {:.1f} a row", byte_count(level.bytes),
                        static_cast<double>(level.prolongation_nonzeros) /
                            static_cast<double>(std::max<std::int64_t>(level.rows, 1)))};
  double y = frame.y + tile_side + figure_height;
  for (const std::string& line : lines) {
    svg.text({corner.x, y}, line, "tick", Svg::Anchor::start);
    y += figure_height;
  }
  const double all =
      description.operator_complexity * static_cast<double>(description.levels.front().nonzeros);
  const double part = all > 0 ? static_cast<double>(level.nonzeros) / all : 0;
  svg.rectangle({corner.x, y - 8}, tile_side, bar_height, "frame");
  svg.cells({corner.x, y - 8}, tile_side * part, bar_height, "M0 0h1v1h-1z", 1);
  svg.text({corner.x, y + figure_height}, fmt::format("{:.1f} % of all nonzeros", 100 * part), "tick",
           Svg::Anchor::start);
}

std::string draw_hierarchy(const std::string& title, const HierarchyDescription& description,
                           const std::vector<Csr<double>>& levels) {
  const std::size_t count = description.levels.size();
  const std::size_t columns = std::clamp<std::size_t>(count, 2, tiles_per_row);
  const double full_width =
      side_margin + static_cast<double>(columns) * (tile_side + tile_gap) + side_margin - tile_gap;
  const std::string caption = fmt::format("{}: {} {}, operator complexity {:.3g}, grid complexity {:.3g}",
                                          description.coarsening, count, count == 1 ? "level" : "levels",
                                          description.operator_complexity, description.grid_complexity);
  const PlotHeading heading(title, caption, full_width - 2 * side_margin);
  const double top = 78 + heading.extra_height();
  const std::size_t rows = (count + columns - 1) / columns;
  Svg svg(full_width, top + static_cast<double>(rows) * tile_height, title);
  heading.draw(svg, side_margin);
  for (std::size_t l = 0; l < count; ++l) {
    const std::size_t row = l / columns;
    const SvgPoint corner = {side_margin + static_cast<double>(l % columns) * (tile_side + tile_gap),
                             top + static_cast<double>(row) * tile_height};
    draw_level(svg, description, l, levels[l].rows() > 0 ? &levels[l] : nullptr, corner);
  }
  return svg.finish();
}

}  // namespace

std::string hierarchy_svg(const std::string& title, const HierarchyDescription& description,
                          const std::vector<Csr<double>>& levels) {
  return at_api_boundary([&] { return draw_hierarchy(title, description, levels); });
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "page/layouts.hpp"
#include "support/text.hpp"

#include <echelon/page/report_page.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

namespace {

/// Numbers of fronts whose rows number from 2^k to 2^(k+1) - 1.
std::vector<PageBar> front_bars(const FactorPattern& factor) {
  std::array<std::int64_t, 64> counts = {};
  for (std::size_t s = 0; s + 1 < factor.supernode_begin.size(); ++s) {
    const std::int64_t rows = factor.supernode_begin[s + 1] - factor.supernode_begin[s] +
                              factor.row_begin[s + 1] - factor.row_begin[s];
    ++counts.at(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 1))) - 1);
  }
  const auto is_counted = [](std::int64_t count) { return count > 0; };
  const auto begin = std::find_if(counts.begin(), counts.end(), is_counted) - counts.begin();
  const auto end = counts.rend() - std::find_if(counts.rbegin(), counts.rend(), is_counted);
  std::vector<PageBar> bars;
  for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
    const std::int64_t first = std::int64_t{1} << k;
    const std::string label =
        k == 0 ? "1 row" : fmt::format("{} to {} rows", grouped(first), grouped(2 * first - 1));
    bars.push_back({label, static_cast<double>(counts.at(k)), grouped(counts.at(k))});
  }
  return bars;
}

}  // namespace

void add_hierarchy(Page& page, const HierarchyDescription& hierarchy) {
  at_api_boundary([&] {
    page.section("Hierarchy");
    std::vector<ReportRow> facts;
    const auto add = [&](std::string label, std::string value) {
      if (!value.empty()) facts.push_back({.label = std::move(label), .value = std::move(value)});
    };
    add("coarsening", hierarchy.coarsening);
    add("because", hierarchy.coarsening_reason);
    add("operator complexity", fmt::format("{:.3g}", hierarchy.operator_complexity));
    add("grid complexity", fmt::format("{:.3g}", hierarchy.grid_complexity));
    add("end of coarsening", hierarchy.end);
    page.facts(facts);
    PageTable table{.caption = "Levels, the finest first",
                    .columns = {"level", "rows", "nonzeros", "per row", "memory"},
                    .rows = {}};
    std::vector<PageBar> bars;
    for (std::size_t l = 0; l < hierarchy.levels.size(); ++l) {
      const LevelDescription& level = hierarchy.levels[l];
      const double rows = static_cast<double>(std::max<std::int64_t>(level.rows, 1));
      std::string name = fmt::format("{}", l);
      if (!level.method.empty()) name += ": " + level.method;
      table.rows.push_back({std::move(name), grouped(level.rows), grouped(level.nonzeros),
                            fmt::format("{:.1f}", static_cast<double>(level.nonzeros) / rows),
                            byte_count(level.bytes)});
      bars.push_back(
          {fmt::format("level {}", l), static_cast<double>(level.nonzeros), grouped(level.nonzeros)});
    }
    page.table(table);
    page.bars("Nonzeros of the levels", bars);
  });
}

void add_factor(Page& page, const FactorPattern& factor) {
  at_api_boundary([&] {
    page.section("Factor");
    const FactorPrediction& p = factor.prediction;
    const std::vector<ReportRow> facts = {
        {.label = "predicted factor",
         .value = fmt::format("{} nonzeros in {}", grouped(p.entries), p.symmetric ? "L" : "L and U")},
        {.label = "operations", .value = fmt::format("{:.3g}", p.flops)},
        {.label = "memory", .value = byte_count(p.bytes)},
        {.label = "ordering", .value = p.ordering},
        {.label = "fronts",
         .value =
             fmt::format("{}, the largest of {} rows", grouped(p.supernodes), grouped(p.largest_front))}};
    page.facts(facts);
    if (factor.supernode_begin.size() < 2) return;
    page.picture(draw_factor("Pattern of the factor", factor, spy_on_page),
                 fmt::format("Pattern of {} in the order of elimination.", p.symmetric ? "L" : "L and U"));
    page.bars("Fronts by their rows", front_bars(factor));
  });
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "commands/hierarchy_info.hpp"

#include <echelon/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace echelon::tool {

HierarchySummary analyze_hierarchy(const MatrixRef<double>& A) {
  Amg<double> amg;
  const Report report = amg.setup(A);
  if (!report.ready()) throw Error("the set-up of amg failed: " + report.message);
  return {describe_hierarchy<double>(amg), report.setup_seconds};
}

void add_hierarchy_rows(const HierarchySummary& summary, std::vector<Row>& rows) {
  const HierarchyDescription& d = summary.description;
  rows.emplace_back(
      "hierarchy of amg",
      fmt::format("{}, operator complexity {:.3g}, grid complexity {:.3g}, set up in {:.3g} ms", d.coarsening,
                  d.operator_complexity, d.grid_complexity, 1e3 * summary.seconds));
  for (std::size_t l = 0; l < d.levels.size(); ++l) {
    const LevelDescription& level = d.levels[l];
    const double per_row =
        static_cast<double>(level.nonzeros) / static_cast<double>(std::max<std::int64_t>(level.rows, 1));
    const bool coarsest = l + 1 == d.levels.size();
    rows.emplace_back(
        fmt::format("level {}", l),
        fmt::format("{} rows, {} nonzeros, {:.1f} a row; {}; {}{}", grouped(level.rows),
                    grouped(level.nonzeros), per_row, level.method, byte_count(level.bytes),
                    coarsest ? "" : fmt::format("; coarsened in {:.3g} ms", 1e3 * level.seconds)));
  }
  if (d.null_space > 0) rows.emplace_back("null space", fmt::format("{} dimensions", grouped(d.null_space)));
  rows.emplace_back("end of coarsening", d.end);
}

Json hierarchy_json(const HierarchySummary& summary) {
  const HierarchyDescription& d = summary.description;
  Json levels = Json::array();
  for (const LevelDescription& level : d.levels) {
    levels.push_back({{"rows", level.rows},
                      {"nonzeros", level.nonzeros},
                      {"prolongation_nonzeros", level.prolongation_nonzeros},
                      {"method", level.method},
                      {"seconds", level.seconds},
                      {"bytes", level.bytes}});
  }
  return {{"coarsening", d.coarsening},
          {"operator_complexity", d.operator_complexity},
          {"grid_complexity", d.grid_complexity},
          {"null_space", d.null_space},
          {"end", d.end},
          {"seconds", summary.seconds},
          {"levels", std::move(levels)}};
}

}  // namespace echelon::tool

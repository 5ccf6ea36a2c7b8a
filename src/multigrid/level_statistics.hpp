// SPDX-License-Identifier: BSD-3-Clause
/// Statistics that every method with a hierarchy reports.
#pragma once

#include <echelon/methods/multigrid/hierarchy.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace echelon::multigrid {

inline std::vector<Statistic> level_statistics(const HierarchyDescription& description) {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> nonzeros;
  std::vector<std::int64_t> bytes;
  for (const LevelDescription& level : description.levels) {
    rows.push_back(level.rows);
    nonzeros.push_back(level.nonzeros);
    bytes.push_back(static_cast<std::int64_t>(level.bytes));
  }
  std::vector<Statistic> statistics = {{"levels", static_cast<std::int64_t>(rows.size())},
                                       {"operator_complexity", description.operator_complexity},
                                       {"grid_complexity", description.grid_complexity}};
  statistics.insert(statistics.begin() + 1, Statistic{"coarsening", std::string(description.coarsening)});
  // Lists are moved: see copy_of() in solver/column_report.cpp.
  statistics.push_back({"level_rows", std::move(rows)});
  statistics.push_back({"level_nonzeros", std::move(nonzeros)});
  statistics.push_back({"level_bytes", std::move(bytes)});
  return statistics;
}

}  // namespace echelon::multigrid

// SPDX-License-Identifier: BSD-3-Clause
/// Statistics that every method with a hierarchy reports.
#pragma once

#include <echelon/methods/multigrid/hierarchy.hpp>

#include <cstdint>
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
  return {{"levels", static_cast<std::int64_t>(rows.size())},
          {"coarsening", description.coarsening},
          {"operator_complexity", description.operator_complexity},
          {"grid_complexity", description.grid_complexity},
          {"level_rows", rows},
          {"level_nonzeros", nonzeros},
          {"level_bytes", bytes}};
}

}  // namespace echelon::multigrid

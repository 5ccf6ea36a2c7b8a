// SPDX-License-Identifier: BSD-3-Clause
/// Part of `info` on the levels of algebraic multigrid.
#pragma once

#include "output/json.hpp"
#include "terminal/text.hpp"

#include <echelon/matrix/matrix.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>

#include <vector>

namespace echelon::tool {

/// Hierarchy of `amg` with its defaults.
struct HierarchySummary {
  HierarchyDescription description;
  double seconds = 0;  ///< of the whole set-up
};

/// Sets up `amg` for A. Throws DimensionMismatch unless A is square, and Error with the reason if the set-up
/// fails.
[[nodiscard]] HierarchySummary analyze_hierarchy(const MatrixRef<double>& A);

void add_hierarchy_rows(const HierarchySummary& summary, std::vector<Row>& rows);
[[nodiscard]] Json hierarchy_json(const HierarchySummary& summary);

}  // namespace echelon::tool

// SPDX-License-Identifier: BSD-3-Clause
/// Part of `info` on the levels of multigrid and of lamg.
#pragma once

#include "arguments/near_null_space.hpp"
#include "output/json.hpp"
#include "terminal/text.hpp"

#include <echelon/matrix/matrix.hpp>
#include <echelon/methods/multigrid/hierarchy.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace echelon::tool {

/// Hierarchy of a multigrid method or of `lamg`.
struct HierarchySummary {
  std::string method;
  HierarchyDescription description;
  /// Matrices of the levels; empty for those that lamg eliminates, but for the finest one.
  std::vector<Csr<double>> levels;
  double seconds = 0;  ///< time for the whole set-up
};

struct HierarchyOptions {
  bool wanted = false;
  std::string method = "amg";
  Options parameters;  ///< of the method
  NearNullSpaceOptions near_null_space;
};

/// Adds --hierarchy and the options that depend on it.
void add_hierarchy_options(CLI::App& app, HierarchyOptions& options);
/// Throws BadOption for options that the method does not have, or that are given without --hierarchy.
void check_hierarchy_options(const HierarchyOptions& options);

/// Sets up the method for A. Throws DimensionMismatch unless A is square, and Error with the reason if the
/// set-up fails.
[[nodiscard]] HierarchySummary analyze_hierarchy(const HierarchyOptions& options, const MatrixRef<double>& A);

void add_hierarchy_rows(const HierarchySummary& summary, std::vector<Row>& rows);
[[nodiscard]] Json hierarchy_json(const HierarchySummary& summary);

}  // namespace echelon::tool

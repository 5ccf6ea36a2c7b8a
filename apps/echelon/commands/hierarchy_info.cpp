// SPDX-License-Identifier: BSD-3-Clause
#include "commands/hierarchy_info.hpp"

#include "arguments/method_options.hpp"

#include <echelon/error.hpp>
#include <echelon/methods/multigrid/near_null_space.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace echelon::tool {

void add_hierarchy_options(CLI::App& app, HierarchyOptions& options) {
  app.add_flag("--hierarchy", options.wanted,
               "set up amg, or --method, and report its levels; with --plot, draw these in place of A");
  app.add_option("--method", options.method, "with --hierarchy: one of these methods")
      ->check(CLI::IsMember({"amg", "geometric-multigrid", "multigrid", "lamg"}));
  add_parameter_option(
      app, options.parameters,
      "with --hierarchy: an option of the method, see 'echelon --help solver:NAME'; may be repeated");
  add_near_null_space_options(app, options.near_null_space);
}

void check_hierarchy_options(const HierarchyOptions& options) {
  check_near_null_space(options.near_null_space);
  const bool vectors = !files_of(options.near_null_space).empty();
  const bool is_default = options.method == HierarchyOptions().method;
  if ((!options.parameters.empty() || vectors || !is_default) && !options.wanted) {
    throw BadOption("--hierarchy",
                    "-p, --method and near-null-space vectors are those of a hierarchy: add --hierarchy");
  }
  if (vectors && !find_method(options.method).takes_near_null_space) {
    throw BadOption("--method", options.method + " takes no near-null-space vectors");
  }
  find_method(options.method).check_options(Device(), options.parameters);
}

HierarchySummary analyze_hierarchy(const HierarchyOptions& options, const MatrixRef<double>& A) {
  Solver<double> solver = make_solver<double>(options.method, Device(), options.parameters);
  const Dense<double> vectors = read_near_null_space(options.near_null_space, A.rows());
  if (vectors.columns() > 0) set_near_null_space(solver, vectors);
  const Report report = solver.setup(A);
  if (!report.ready()) throw InvalidMatrix("the set-up of " + options.method + " failed: " + report.message);
  HierarchySummary summary = {options.method, describe_hierarchy<double>(solver), {}, report.setup_seconds};
  for (std::size_t l = 0; l < summary.description.levels.size(); ++l) {
    if (summary.description.levels[l].method != "elimination") {
      summary.levels.push_back(level_matrix(solver, l));
    } else if (l == 0) {
      summary.levels.push_back(A.is_sparse() ? *A.csr() : to_csr(A));
    } else {
      summary.levels.emplace_back();
    }
  }
  return summary;
}

void add_hierarchy_rows(const HierarchySummary& summary, std::vector<Row>& rows) {
  const HierarchyDescription& d = summary.description;
  rows.emplace_back(
      "hierarchy of " + summary.method,
      fmt::format("{}, operator complexity {:.3g}, grid complexity {:.3g}, set up in {:.3g} ms", d.coarsening,
                  d.operator_complexity, d.grid_complexity, 1e3 * summary.seconds));
  if (!d.coarsening_reason.empty()) rows.emplace_back("coarsening", d.coarsening_reason);
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
  if (d.near_null_space > 0) {
    rows.emplace_back("near null space", fmt::format("{} given vectors", grouped(d.near_null_space)));
  }
  if (d.null_space > 0) rows.emplace_back("null space", "of dimension " + grouped(d.null_space));
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
          {"coarsening_reason", d.coarsening_reason},
          {"operator_complexity", d.operator_complexity},
          {"grid_complexity", d.grid_complexity},
          {"near_null_space", d.near_null_space},
          {"null_space", d.null_space},
          {"end", d.end},
          {"seconds", summary.seconds},
          {"levels", std::move(levels)}};
}

}  // namespace echelon::tool

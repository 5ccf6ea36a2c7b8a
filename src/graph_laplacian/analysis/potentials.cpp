// SPDX-License-Identifier: BSD-3-Clause
#include "backend/api_boundary.hpp"
#include "graph_laplacian/analysis/connected_components.hpp"
#include "graph_laplacian/analysis/laplacian_solver.hpp"
#include "graph_laplacian/analysis/require_laplacian.hpp"

#include <echelon/matrix/matrix.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace echelon::graph {

namespace {

/// Subtracts from each column its mean on every component. Returns the ratios of the norms of the removed
/// parts to those of the columns.
std::vector<double> balance(const Components& parts, Dense<double>& currents) {
  std::vector<double> removed;
  for (std::int64_t j = 0; j < currents.columns(); ++j) {
    double* const b = currents.data() + j * currents.rows();
    std::vector<double> means(parts.sizes.size(), 0.0);
    double square = 0;
    for (std::int64_t i = 0; i < currents.rows(); ++i) {
      means[static_cast<std::size_t>(parts.of_vertex[i])] += b[i];
      square += b[i] * b[i];
    }
    double removed_square = 0;
    for (std::size_t c = 0; c < means.size(); ++c) {
      const auto size = static_cast<double>(parts.sizes[c]);
      means[c] /= size;
      removed_square += size * means[c] * means[c];
    }
    for (std::int64_t i = 0; i < currents.rows(); ++i) {
      b[i] -= means[static_cast<std::size_t>(parts.of_vertex[i])];
    }
    removed.push_back(square > 0 ? std::sqrt(removed_square / square) : 0);
  }
  return removed;
}

double rounding_of(std::int64_t n) {
  return std::numeric_limits<double>::epsilon() * std::sqrt(static_cast<double>(n));
}

/// Adds a warning for parts of the currents that exceed `limit`, relative to their norm, or makes the status
/// of their columns `inconsistent`.
void report_removed(const std::vector<double>& removed, double limit, bool strict, Report& report) {
  double largest = 0;
  for (std::size_t j = 0; j < removed.size(); ++j) {
    largest = std::max(largest, removed[j]);
    if (strict && removed[j] > limit && j < report.columns.size()) {
      report.columns[j].status = Status::inconsistent;
    }
  }
  if (!(largest > limit)) return;
  const std::string text = fmt::format(
      "the currents do not sum to zero on every component of the graph: {:.3g} of their norm", largest);
  if (strict) {
    report.status = Status::inconsistent;
    report.message = text + " is outside the range of its Laplacian, and x are the potentials for the rest";
  } else {
    report.warnings.push_back(text + " was removed");
  }
}

}  // namespace

Potentials potentials(const Csr<double>& laplacian, DenseView<const double> currents,
                      const SolveSettings& settings, bool strict) {
  return at_api_boundary([&] {
    require_laplacian(laplacian);
    LaplacianSolver solver(laplacian, settings, {{"rtol", settings.rtol}});
    Potentials result{Dense<double>(Device(), laplacian.rows(), currents.columns()), solver.setup()};
    if (!result.report.ready()) {
      std::fill_n(result.x.data(), result.x.rows() * result.x.columns(), not_computed);
      return result;
    }
    Dense<double> balanced = to_dense(MatrixRef<double>(currents));
    const std::vector<double> removed = balance(connected_components(laplacian), balanced);
    result.report = solver.solve(balanced, result.x);
    report_removed(removed, strict ? settings.rtol : rounding_of(laplacian.rows()), strict, result.report);
    return result;
  });
}

}  // namespace echelon::graph

// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/analysis/laplacian_solver.hpp"
#include "graph_laplacian/analysis/require_laplacian.hpp"

#include <algorithm>

namespace echelon::graph {

Potentials potentials(const Csr<double>& laplacian, DenseView<const double> currents,
                      const SolveSettings& settings, bool strict) {
  require_laplacian(laplacian);
  Options options = {{"rtol", settings.rtol}};
  if (strict) options.set("strict", true);
  LaplacianSolver solver(laplacian, settings, options);
  Potentials result{Dense<double>(Device(), laplacian.rows(), currents.columns()), solver.setup()};
  if (result.report.ready()) {
    result.report = solver.solve(currents, result.x);
  } else {
    std::fill_n(result.x.data(), result.x.rows() * result.x.columns(), not_computed);
  }
  return result;
}

}  // namespace echelon::graph

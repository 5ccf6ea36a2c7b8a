// SPDX-License-Identifier: BSD-3-Clause
#include "graph_laplacian/analysis/laplacian_solver.hpp"

namespace echelon::graph {

namespace {

std::string method_of(const SolveSettings& settings) {
  if (!settings.method.empty()) return settings.method;
  return settings.device.on_host() ? "approximate-cholesky" : "lamg";
}

}  // namespace

LaplacianSolver::LaplacianSolver(const Csr<double>& L, const SolveSettings& settings, const Options& options)
    : device_(settings.device),
      control_{.cancel = settings.cancel},
      solver_(make_solver<double>(method_of(settings), device_, options)) {
  if (!device_.on_host()) copy_ = L.to(device_);
  setup_ = solver_.setup(device_.on_host() ? L : copy_, control_);
}

Report LaplacianSolver::solve(DenseView<const double> B, Dense<double>& X) {
  if (device_.on_host()) return solver_.solve(B, X, control_);
  Dense<double> on_device(device_, X.rows(), X.columns());
  Report report = solver_.solve(to_dense(MatrixRef<double>(B)).to(device_), on_device, control_);
  X = on_device.to(Device());
  return report;
}

}  // namespace echelon::graph

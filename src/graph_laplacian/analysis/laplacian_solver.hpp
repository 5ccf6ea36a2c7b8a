// SPDX-License-Identifier: BSD-3-Clause
/// Solvers for the Laplacian systems of an analysis, for matrices and vectors on the host.
#pragma once

#include <echelon/graph/analysis.hpp>
#include <echelon/solver.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

namespace echelon::graph {

/// Value of a result that a failed set-up or a cancelled solve left unknown.
inline constexpr double not_computed = std::numeric_limits<double>::quiet_NaN();

/// Solver on the device of the settings for a Laplacian and vectors on the host. The Laplacian has to outlive
/// it.
class LaplacianSolver {
 public:
  LaplacianSolver(const Csr<double>& L, const SolveSettings& settings, const Options& options);
  /// Report of the set-up.
  [[nodiscard]] const Report& setup() const { return setup_; }
  Report solve(DenseView<const double> B, Dense<double>& X);

 private:
  Device device_;
  Control control_;
  Csr<double> copy_;  // of the Laplacian, on a GPU
  Solver<double> solver_;
  Report setup_;
};

/// Solver with one set-up for any number of right-hand sides, which are solved in blocks of columns.
class BlockSolver {
 public:
  BlockSolver(const Csr<double>& L, const SolveSettings& settings, double rtol)
      : n_(L.rows()), solver_(L, settings, {{"rtol", rtol}}) {
    if (!solver_.setup().ready()) worst_ = solver_.setup();
  }

  /// Solves for right-hand sides j = 0, ..., count - 1: fill(j, b) writes right-hand side j into a zeroed b,
  /// and use(j, x) reads its solution. Returns the number of solutions that were used: fewer than `count` if
  /// the set-up failed or a solve was cancelled.
  template <class Fill, class Use>
  std::int64_t solve(std::int64_t count, const Fill& fill, const Use& use) {
    if (!solver_.setup().ready()) return 0;
    for (std::int64_t first = 0; first < count; first += columns_at_once) {
      const std::int64_t columns = std::min(columns_at_once, count - first);
      Dense<double> B(Device(), n_, columns);
      Dense<double> X(Device(), n_, columns);
      std::fill_n(B.data(), n_ * columns, 0.0);
      for (std::int64_t j = 0; j < columns; ++j) fill(first + j, B.data() + j * n_);
      const Report report = solver_.solve(B, X);
      if (worst_.method.empty() || is_worse(report)) worst_ = report;
      if (report.status == Status::cancelled) return first;
      for (std::int64_t j = 0; j < columns; ++j) use(first + j, X.data() + j * n_);
    }
    return count;
  }
  /// Report of the worst solve, or of a set-up that failed.
  [[nodiscard]] const Report& report() const { return worst_; }

 private:
  static constexpr std::int64_t columns_at_once = 64;

  [[nodiscard]] bool is_worse(const Report& report) const {
    if (report.solved() != worst_.solved()) return worst_.solved();
    return report.relative_residual > worst_.relative_residual;
  }

  std::int64_t n_;
  LaplacianSolver solver_;
  Report worst_;
};

}  // namespace echelon::graph

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/solver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace echelon {

struct GaussSeidelRelaunchOptions {
  static constexpr std::string_view name = "gauss-seidel-relaunch";
  static constexpr Targets targets = Targets::both;
  /// When to stop.
  Stop stop = {};
  /// Sweeps from one measurement of b - A x, which costs as much as a sweep, to the next; 1 to 1000.
  std::int64_t residual_every = 4;

  static std::vector<Option<GaussSeidelRelaunchOptions>> table() {
    return with_stop_options<GaussSeidelRelaunchOptions>(
        {{"residual_every",
          +[](GaussSeidelRelaunchOptions& o) -> std::int64_t& { return o.residual_every; },
          "sweeps between two computations of b - A x, each as costly as a sweep",
          {1, 1000}}});
  }
};

/// Forward Gauss-Seidel by the published scheme for GPUs, for comparison: passes over all rows, each of which
/// computes the unfinished rows whose dependencies are finished, into a second vector and with a flag a row,
/// until none is left. The bits of gauss-seidel; as many passes as the matrix has levels at most, and each
/// reads at least the flags. R. Fiorentini, Implementation of Gauss-Seidel algorithm for sparse matrices on
/// Nvidia GPU device (2022).
template <class T>
using GaussSeidelRelaunch = SolverOf<T, GaussSeidelRelaunchOptions>;

}  // namespace echelon

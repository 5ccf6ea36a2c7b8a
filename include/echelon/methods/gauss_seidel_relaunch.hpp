// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>
#include <echelon/sweep.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API GaussSeidelRelaunchOptions {
  static constexpr std::string_view name = "gauss-seidel-relaunch";
  static constexpr Targets targets = Targets::all;
  /// Stopping criteria.
  Stop stop = {};
  /// Order of the rows.
  SweepKind sweep = SweepKind::forward;
  /// Sweeps between two computations of b - A x, each as costly as a sweep; 1 to 1000.
  std::int64_t residual_every = 4;
  /// Passes over a row in a launch: 2, first over the flags of its dependencies and then over its elements;
  /// 1, as published, over both at once until a dependency is unfinished. The bits are the same.
  std::int64_t row_passes = 2;
  /// On an NVIDIA GPU, threads of a block, each of which has a row; 1 to 1024, the number published.
  std::int64_t threads_per_block = 256;

  /// Describes each option.
  static std::vector<Option<GaussSeidelRelaunchOptions>> table();
};

/// Forward Gauss-Seidel by the published scheme for GPUs, for comparison. A pass over all rows computes the
/// unfinished rows whose dependencies are finished, writes them into a second vector and sets a flag for
/// each; passes are repeated until all rows are finished. The result has the bits of gauss-seidel. Takes at
/// most as many passes as the matrix has levels, each of which reads at least the flags. R. Fiorentini,
/// Implementation of Gauss-Seidel algorithm for sparse matrices on Nvidia GPU device (2022).
template <class T>
using GaussSeidelRelaunch = SolverOf<T, GaussSeidelRelaunchOptions>;

}  // namespace echelon

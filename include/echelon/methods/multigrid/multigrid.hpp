// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API MultigridOptions {
  static constexpr std::string_view name = "multigrid";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  /// Stopping criteria.
  Stop stop = {};
  /// Jacobi sweeps before, and after, each coarse correction, 1 to 100.
  std::int64_t sweeps = 2;
  /// Weight of the Jacobi sweeps, 0 < weight < 2; not set: 4 / (3 lambda) with the largest eigenvalue lambda
  /// of D^-1 A.
  std::optional<double> weight = {};
  /// Largest number of rows of a level that is solved by elimination, 1 to 10000.
  std::int64_t coarse_size = 500;
  /// Largest number of levels, 1 to 50.
  std::int64_t max_levels = 25;

  /// Describes each option.
  static std::vector<Option<MultigridOptions>> table();
};

/// Multigrid for sparse A whose unknowns are numbered along a line: V-cycles with weighted Jacobi sweeps,
/// linear interpolation between every other unknown, Galerkin's coarse matrices, and elimination on the
/// coarsest level. Coarsening does not depend on the elements of A, as it does in `amg`, so convergence is
/// fast only if unknowns with neighbouring numbers have similar errors. For symmetric positive definite A a
/// cycle is symmetric positive definite, so that it preconditions `cg`.
template <class T>
using Multigrid = SolverOf<T, MultigridOptions>;

}  // namespace echelon

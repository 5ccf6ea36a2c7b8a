// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/methods/multigrid/multigrid.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API MultigridDenseOptions {
  static constexpr std::string_view name = "multigrid-dense";
  static constexpr Targets targets = Targets::all;
  /// Stopping criteria.
  Stop stop = {};
  /// Jacobi sweeps before, and after, each coarse correction, 1 to 100.
  std::int64_t sweeps = 2;
  /// Weight of the Jacobi sweeps, 0 < weight < 2; not set: 4 / (3 lambda) with the largest eigenvalue lambda
  /// of D^-1 A.
  std::optional<double> weight = {};
  /// Largest number of rows of a level that is solved by elimination, 1 to 10000.
  std::int64_t coarse_size = 128;
  /// Largest number of levels, 1 to 50; 1: elimination of A itself.
  std::int64_t max_levels = 25;

  /// Describes each option.
  static std::vector<Option<MultigridDenseOptions>> table();
};

/// Multigrid for dense A whose unknowns are numbered along a line: V-cycles with weighted Jacobi sweeps,
/// linear interpolation between every other unknown, Galerkin's coarse matrices P^T A P, and elimination on
/// the coarsest level. For symmetric positive definite A a cycle is symmetric positive definite, so that it
/// preconditions `cg`.
/// Set-up: 3 n^2 flops for the coarse matrices, 20 n^2 for the weights, and 2/3 coarse_size^3; a cycle 8/3
/// (2 sweeps + 1) n^2. Memory: n^2 / 3 elements for the coarse matrices, and 6 n for a solve in progress.
template <class T>
using MultigridDense = SolverOf<T, MultigridDenseOptions>;

}  // namespace echelon

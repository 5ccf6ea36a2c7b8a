// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/methods/amg.hpp>
#include <echelon/solver.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API GeometricMultigridOptions {
  static constexpr std::string_view name = "geometric-multigrid";
  static constexpr Targets targets = Targets::all;
  /// Stopping criteria.
  Stop stop = {};
  /// Points in each dimension, the dimension numbered fastest first: "100x80x60"; empty: derived from the
  /// first row of A.
  std::string grid = {};
  /// Order in which the levels are visited.
  CycleKind cycle = CycleKind::v;
  /// Smoother of every level but the coarsest.
  SmootherKind smoother = SmootherKind::automatic;
  /// Smoothing steps before, and after, the coarse correction, 1 to 100.
  std::int64_t sweeps = 1;
  /// Weight of the Jacobi smoother, 0 < weight < 2; not set: 3 / (2 lambda) with the largest eigenvalue
  /// lambda of D^-1 A.
  std::optional<double> weight = {};
  /// Largest number of rows of a level that is solved directly, 1 to 10000.
  std::int64_t coarse_size = 500;
  /// Largest number of levels, 1 to 50.
  std::int64_t max_levels = 25;

  /// Describes each option.
  static std::vector<Option<GeometricMultigridOptions>> table();
};

/// Multigrid for problems on regular grids of one to three dimensions: linear, bilinear or trilinear
/// interpolation between every other point in each dimension, its transpose as the restriction (full
/// weighting), and Galerkin's coarse matrices. An F-cycle from zero is a full multigrid pass. Memory, without
/// A: 1.2 times that of A in two dimensions with 5 points in the stencil and 1.3 times in three with 7, and
/// the prolongations. A. Brandt, Math. Comp. 31 (1977); U. Trottenberg, C. Oosterlee, A. Schueller,
/// Multigrid, Academic Press 2001.
template <class T>
using GeometricMultigrid = SolverOf<T, GeometricMultigridOptions>;

}  // namespace echelon

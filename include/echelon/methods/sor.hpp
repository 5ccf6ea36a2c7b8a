// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>
#include <echelon/sweep.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API SorOptions {
  static constexpr std::string_view name = "sor";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Stopping criteria.
  Stop stop = {};
  /// Relaxation factor, 0 < omega < 2; 1 is Gauss-Seidel.
  double omega = 1.5;
  /// Order of the rows.
  SweepKind sweep = SweepKind::forward;
  /// Sweeps between two computations of b - A x, each as costly as a sweep; 1 to 1000.
  std::int64_t residual_every = 4;

  /// Describes each option.
  static std::vector<Option<SorOptions>> table();
};

/// Successive over-relaxation: Gauss-Seidel whose corrections are multiplied by omega.
/// Converges for symmetric positive definite A; for others only where omega suits. D. M. Young, Trans. Amer.
/// Math. Soc. 76 (1954). Costs what GaussSeidel costs.
template <class T>
using Sor = SolverOf<T, SorOptions>;

}  // namespace echelon

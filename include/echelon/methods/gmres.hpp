// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API GmresOptions {
  static constexpr std::string_view name = "gmres";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Stopping criteria.
  Stop stop = {};
  /// Number of basis vectors before a restart, 1 to 1000; memory is (restart + 3) n elements.
  std::int64_t restart = 50;
  /// Keep the preconditioned vectors too, so that the preconditioner may change from step to step.
  bool flexible = false;
  /// "none", or a method that is usable as a preconditioner. For a user-defined one see
  /// Solver::set_preconditioner.
  std::string preconditioner = "none";
  /// Options of the preconditioner, by name.
  Options preconditioner_options = {};

  /// Describes each option.
  static std::vector<Option<GmresOptions>> table();
};

/// Restarted generalised minimal residuals with right preconditioning, for general A; flexible (FGMRES) on
/// request. Orthogonalises by classical Gram-Schmidt with reorthogonalisation.
/// Saad and Schultz, SIAM J. Sci. Stat. Comput. 7 (1986); Saad, SIAM J. Sci. Comput. 14 (1993).
/// Step j of a cycle costs one product with A, one preconditioner and 8 j n flops; (restart + 3) n elements
/// are held, (2 restart + 2) n when flexible.
template <class T>
using Gmres = SolverOf<T, GmresOptions>;

}  // namespace echelon

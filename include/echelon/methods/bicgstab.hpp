// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API BicgstabOptions {
  static constexpr std::string_view name = "bicgstab";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Stopping criteria.
  Stop stop = {};
  /// "none", or a method that is usable as a preconditioner. For a user-defined one see
  /// Solver::set_preconditioner.
  std::string preconditioner = "none";
  /// Options of the preconditioner, by name.
  Options preconditioner_options = {};

  /// Describes each option.
  static std::vector<Option<BicgstabOptions>> table();
};

/// Stabilised bi-conjugate gradients with right preconditioning, for general A.
/// van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992).
/// An iteration costs two products with A, two preconditioners and 22 n flops; 8 n elements are held.
template <class T>
using Bicgstab = SolverOf<T, BicgstabOptions>;

}  // namespace echelon

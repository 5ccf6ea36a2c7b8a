// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API MinresOptions {
  static constexpr std::string_view name = "minres";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Stopping criteria.
  Stop stop = {};
  /// "none", or a method that acts as a symmetric positive definite M^-1.
  std::string preconditioner = "none";
  /// Options of the preconditioner, by name.
  Options preconditioner_options = {};

  /// Describes each option.
  static std::vector<Option<MinresOptions>> table();
};

/// Preconditioned minimal residuals, for symmetric A, definite or not; the preconditioner has to be symmetric
/// positive definite. Finds a solution of a consistent singular system.
/// Paige and Saunders, SIAM J. Numer. Anal. 12 (1975).
/// An iteration costs one product with A, one preconditioner and 22 n flops; 8 n elements are held, 9 n with
/// a preconditioner.
template <class T>
using Minres = SolverOf<T, MinresOptions>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API CrOptions {
  static constexpr std::string_view name = "cr";
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
  static std::vector<Option<CrOptions>> table();
};

/// Preconditioned conjugate residuals, for symmetric (Hermitian) positive definite A and M: each step
/// minimises the residual in the norm of M^-1. Stiefel, Comment. Math. Helv. 29 (1955). An iteration costs
/// one product with A, one preconditioner and 14 n flops, 16 n with a preconditioner; 5 n elements are held,
/// 7 n with a preconditioner.
template <class T>
using Cr = SolverOf<T, CrOptions>;

}  // namespace echelon

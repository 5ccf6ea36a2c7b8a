// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API CgOptions {
  static constexpr std::string_view name = "cg";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Stopping criteria.
  Stop stop = {};
  /// Use the formula of Polak and Ribiere for beta, which allows the preconditioner to change from step to
  /// step. Always used with a preconditioner that declares that it is not a fixed symmetric operator.
  bool flexible = false;
  /// "none", or a method that is usable as a preconditioner. For a user-defined one see
  /// Solver::set_preconditioner.
  std::string preconditioner = "none";
  /// Options of the preconditioner, by name.
  Options preconditioner_options = {};

  /// Describes each option.
  static std::vector<Option<CgOptions>> table();
};

/// Preconditioned conjugate gradients, for symmetric positive definite A.
/// Hestenes and Stiefel, J. Res. NBS 49 (1952); Saad, Iterative Methods for Sparse Linear Systems, alg. 9.1.
/// Flexible, by Polak and Ribiere's formula, on request and where the preconditioner needs it: Notay, SIAM J.
/// Sci. Comput. 22 (2000).
/// An iteration costs one product with A, one preconditioner and 10 n flops; 4 n elements are held.
template <class T>
using Cg = SolverOf<T, CgOptions>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API CocrOptions {
  static constexpr std::string_view name = "cocr";
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
  static std::vector<Option<CocrOptions>> table();
};

/// Conjugate orthogonal conjugate residuals, for complex symmetric A = A^T; for real symmetric A they are
/// conjugate residuals. The residual falls more smoothly than that of `cocg`, and a product z^T A z of zero
/// ends as `breakdown`. Sogabe and Zhang, J. Comput. Appl. Math. 199 (2007). An iteration costs one product
/// with A, one preconditioner and 14 n flops, 16 n with a preconditioner; 5 n elements are held, 7 n with a
/// preconditioner.
template <class T>
using Cocr = SolverOf<T, CocrOptions>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API CocgOptions {
  static constexpr std::string_view name = "cocg";
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
  static std::vector<Option<CocgOptions>> table();
};

/// Conjugate orthogonal conjugate gradients, for complex symmetric A = A^T; for real symmetric A they are
/// conjugate gradients. The residual does not fall monotonically, and a product r^T z of zero ends as
/// `breakdown`. van der Vorst and Melissen, IEEE Trans. Magn. 26 (1990). An iteration costs one product with
/// A, one preconditioner and 12 n flops; 4 n elements are held.
template <class T>
using Cocg = SolverOf<T, CocgOptions>;

}  // namespace echelon

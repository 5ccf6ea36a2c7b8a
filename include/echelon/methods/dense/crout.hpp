// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API CroutOptions {
  static constexpr std::string_view name = "crout";
  static constexpr Targets targets = Targets::host;
  /// Scale rows and columns first where LAPACK's geequ advises it.
  bool equilibrate = true;
  /// Largest number of steps of iterative refinement, 0 to 10.
  std::int64_t refine = 1;

  /// Describes each option.
  static std::vector<Option<CroutOptions>> table();
};

/// Dense LU by Crout's method with partial pivoting, one column of L and one row of U after the other; U has
/// the unit diagonal. The reference for the other forms of the method; `lapack-lu` finds the same pivots
/// faster. 2/3 n^3 flops and n^2 elements for the factors, 2 n^2 flops a right-hand side (twice that with a
/// step of refinement). A sparse A is densified. The report carries a condition estimate; below the unit
/// roundoff the status is `singular`.
template <class T>
using Crout = SolverOf<T, CroutOptions>;

}  // namespace echelon

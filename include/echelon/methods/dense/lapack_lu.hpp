// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API LapackLuOptions {
  static constexpr std::string_view name = "lapack-lu";
  static constexpr Targets targets = Targets::host;
  static constexpr bool takes_complex = true;
  /// Scale rows and columns first where LAPACK's geequ advises it.
  bool equilibrate = true;
  /// Largest number of steps of iterative refinement, 0 to 10.
  std::int64_t refine = 1;

  /// Describes each option.
  static std::vector<Option<LapackLuOptions>> table();
};

/// Dense LU with partial pivoting by LAPACK's getrf, on the host; a sparse A is densified.
/// 2/3 n^3 flops and n^2 elements for the factor, 2 n^2 flops a right-hand side (twice that with a step of
/// refinement). The report carries LAPACK's estimate of the reciprocal condition number; below the unit
/// roundoff the status is `singular`.
template <class T>
using LapackLu = SolverOf<T, LapackLuOptions>;

}  // namespace echelon

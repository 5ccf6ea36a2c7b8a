// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/dense_options.hpp>
#include <echelon/solver.hpp>

#include <string_view>
#include <vector>

namespace echelon {

struct LdltOptions {
  static constexpr std::string_view name = "ldlt";
  static constexpr Targets targets = Targets::host;
  /// Scale rows and columns alike first where their sizes differ by more than a factor of ten.
  bool equilibrate = true;
  /// At most so many steps of iterative refinement, 0 to 10.
  std::int64_t refine = 1;

  static std::vector<Option<LdltOptions>> table() {
    return with_refinement_options<LdltOptions>(
        {}, "scale rows and columns alike first where their sizes differ by more than a factor of ten", 10);
  }
};

/// Dense factorisation P A P^T = L D L^T with rook pivoting by LAPACK's sytrf_rook, on the host, for
/// symmetric A; a sparse A is densified. D has blocks of order one and two, whose signs give the inertia of
/// A. 1/3 n^3 flops and n^2 elements for the factors; 2 n^2 flops a right-hand side (twice that with a step
/// of refinement). The report carries an estimate of the reciprocal condition number; below the unit roundoff
/// the status is `singular`.
template <class T>
using Ldlt = SolverOf<T, LdltOptions>;

}  // namespace echelon

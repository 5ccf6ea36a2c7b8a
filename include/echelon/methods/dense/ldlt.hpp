// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API LdltOptions {
  static constexpr std::string_view name = "ldlt";
  static constexpr Targets targets = Targets::both;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Scale rows and columns symmetrically first if their magnitudes differ by more than a factor of ten.
  bool equilibrate = true;
  /// Largest number of steps of iterative refinement, 0 to 10.
  std::int64_t refine = 1;

  /// Describes each option.
  static std::vector<Option<LdltOptions>> table();
};

/// Dense factorisation P A P^T = L D L^T with pivots of order one and two for symmetric A, real or complex,
/// or L D L^H for a Hermitian one; a sparse A is densified. The host uses LAPACK's sytrf_rook or hetrf_rook,
/// with rook pivoting. A GPU uses complete pivoting within blocks of 64 columns and postpones columns whose
/// elements of L exceed 20; if that fails, the host factors. The signs of D give the inertia of a real or a
/// Hermitian A. 1/3 n^3 flops and n^2 elements for the factors, on a GPU about 1.05 n^2 + 320 n; 2 n^2 flops
/// a right-hand side (twice that with a step of refinement). The report carries an estimate of the reciprocal
/// condition number; below the machine epsilon the status is `singular`.
template <class T>
using Ldlt = SolverOf<T, LdltOptions>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API CholeskyOptions {
  static constexpr std::string_view name = "cholesky";
  static constexpr Targets targets = Targets::both;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Scale rows and columns symmetrically first if their magnitudes differ by more than a factor of ten.
  bool equilibrate = true;
  /// Largest number of steps of iterative refinement, 0 to 10.
  std::int64_t refine = 1;
  /// Precision of the factorisation. With a lower precision than the working precision, answers are refined
  /// by classical steps and by GMRES to a backward error of sqrt(n) times the unit roundoff; if that is not
  /// reached, A is factored again in the working precision.
  Precision factor_precision = Precision::working;

  /// Describes each option.
  static std::vector<Option<CholeskyOptions>> table();
};

/// Dense Cholesky factorisation A = L L^T for symmetric positive definite A, or L L^H for a Hermitian one, by
/// LAPACK's potrf on the host and by a kernel of tiles on a GPU; a sparse A is densified. 1/3 n^3 flops, half
/// of those of LU, and n^2 elements for the factor, on a GPU 192 n more; 2 n^2 flops a right-hand side (twice
/// that with a step of refinement). The status is `not_spd` with the first column whose pivot is not
/// positive. The report carries an estimate of the reciprocal condition number; below the machine epsilon the
/// status is `singular`.
template <class T>
using Cholesky = SolverOf<T, CholeskyOptions>;

}  // namespace echelon

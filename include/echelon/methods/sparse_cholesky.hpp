// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/ordering.hpp>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API SparseCholeskyOptions {
  static constexpr std::string_view name = "sparse-cholesky";
  static constexpr Targets targets = Targets::both;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Order of elimination, which determines the fill.
  Ordering ordering = Ordering::automatic;
  /// Largest number of steps of iterative refinement, 0 to 20.
  std::int64_t refine = 10;
  /// Estimate the condition number in every set-up: about ten substitutions.
  bool condition = true;
  /// Estimate it in every update of values, too. By default, and on the host, the last estimate is multiplied
  /// by the change of the ratio of the smallest to the largest pivot, unless that is more than tenfold or A
  /// comes near a singular matrix.
  bool condition_of_updates = false;

  /// Describes each option.
  static std::vector<Option<SparseCholeskyOptions>> table();
};

/// A = L L^T for sparse symmetric positive definite A, or L L^H for a Hermitian one: a fill-reducing
/// ordering, then a multifrontal Cholesky factorisation by dense blocks. A stores both triangles. If a pivot
/// is not positive, the status is `not_spd` and the message names its column and value; a matrix that is not
/// symmetric, or not Hermitian, gives the same status. The analysis of a pattern is kept: further set-ups
/// with the same pattern only factor. A dense A is converted. I. Duff, J. Reid, The multifrontal solution of
/// indefinite sparse symmetric linear systems, ACM Trans. Math. Softw. 9 (1983); J. Liu, The multifrontal
/// method for sparse matrix solution, SIAM Review 34 (1992).
template <class T>
using SparseCholesky = SolverOf<T, SparseCholeskyOptions>;

}  // namespace echelon

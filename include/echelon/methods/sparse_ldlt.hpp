// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/ordering.hpp>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API SparseLdltOptions {
  static constexpr std::string_view name = "sparse-ldlt";
  static constexpr Targets targets = Targets::both;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Order of elimination, which determines the fill.
  Ordering ordering = Ordering::automatic;
  /// On the host, a pivot is accepted if no element of its columns of L exceeds 1 / threshold,
  /// 0 < threshold <= 0.5. Smaller ones keep the fill smaller, and let elements grow more.
  double threshold = 0.01;
  /// Largest number of steps of iterative refinement, 0 to 20; on a GPU at most 5.
  std::int64_t refine = 10;
  /// Estimate the condition number in every set-up, which also detects a singular A: about ten substitutions.
  bool condition = true;
  /// Estimate it in every update of values, too. By default, and on the host, the last estimate is multiplied
  /// by the change of the ratio of the smallest to the largest pivot, unless that is more than tenfold or A
  /// comes near a singular matrix.
  bool condition_of_updates = false;

  /// Describes each option.
  static std::vector<Option<SparseLdltOptions>> table();
};

/// P S A S P^T = L D L^T for sparse symmetric A, or L D L^H for Hermitian A, that need not be definite: rows
/// and columns are scaled alike (S), P keeps the fill small, and a multifrontal factorisation with pivots of
/// order one and two eliminates dense fronts. Zeros on the diagonal are allowed: a matching pairs their rows
/// beforehand. Columns without a large enough pivot in their front are delayed to the parent. The report
/// counts positive, negative and zero eigenvalues, excluding those of a complex symmetric A. For a singular
/// A, every right-hand side is reported as `underdetermined`, with a solution, or `inconsistent`, with a row
/// that says so. Both triangles of A are given; an A that is neither symmetric nor Hermitian ends as
/// `breakdown`. The analysis is kept for update_values. A dense A is converted.
///
/// On a GPU, pivots are searched within fronts. The largest multiplier is reported, and answers are refined
/// if it is not small. If that does not suffice, or A is singular, the host factors.
///
/// I. Duff, J. Reid, The multifrontal solution of indefinite sparse symmetric linear systems, ACM Trans.
/// Math. Softw. 9 (1983); I. Duff, S. Pralet, Strategies for scaling and pivoting for sparse symmetric
/// indefinite problems, SIAM J. Matrix Anal. Appl. 27 (2005).
template <class T>
using SparseLdlt = SolverOf<T, SparseLdltOptions>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API CroutIterativeOptions {
  static constexpr std::string_view name = "crout-iterative";
  static constexpr Targets targets = Targets::all;
  /// Number of rows of a section; 0: a tenth of the rows of A, from 256 to 1024.
  std::int64_t section_size = 0;
  /// Largest change by a sweep at which an element has converged; 0: no change at all.
  double tolerance = 0;
  /// Exchange rows so that the largest element of each column becomes its pivot.
  bool pivoting = true;
  /// Threshold of pivoting, 0 to 1: a diagonal element of at least this multiple of the largest element below
  /// it stays the pivot.
  double pivot_threshold = 1;
  /// On a GPU, rows and columns of the tile of elements of a thread block, 8 to 32, rounded down to a power
  /// of two. The bits do not depend on it.
  std::int64_t block_size = 32;
  /// Scale rows and columns first where LAPACK's geequ advises it.
  bool equilibrate = true;
  /// Largest number of steps of iterative refinement, 0 to 100.
  std::int64_t refine = 10;

  /// Describes each option.
  static std::vector<Option<CroutIterativeOptions>> table();
};

/// Dense LU by Crout's formulas as a fixed-point iteration with pivoting (ICM and ICMPP), all elements of a
/// section at once; published for GPUs. Takes the flops of a direct factorisation times the number of sweeps
/// per section, which is up to 2 s + p for s rows and p row exchanges. With a loose tolerance the factors are
/// a preconditioner. Memory: 3 n^2 elements during the set-up, n^2 for the factors.
template <class T>
using CroutIterative = SolverOf<T, CroutIterativeOptions>;

}  // namespace echelon

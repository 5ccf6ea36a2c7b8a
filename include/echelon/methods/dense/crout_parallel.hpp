// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API CroutParallelOptions {
  static constexpr std::string_view name = "crout-parallel";
  static constexpr Targets targets = Targets::all;
  /// On a GPU, threads of a block, 32 to 512, rounded down to a power of two. They share the sums, so that
  /// factors differ by rounding.
  std::int64_t threads_per_block = 512;
  /// Scale rows and columns first where LAPACK's geequ advises it.
  bool equilibrate = true;
  /// Largest number of steps of iterative refinement, 0 to 100.
  std::int64_t refine = 10;

  /// Describes each option.
  static std::vector<Option<CroutParallelOptions>> table();
};

/// Dense LU by Crout's method with partial pivoting (published as PCM): all elements of a column of L are
/// computed at the same time, then the pivot, then all elements of a row of U. U has the unit diagonal. On
/// the host it equals `crout`. 2/3 n^3 flops, which read n^3/3 elements; n^2 elements for the factors. A
/// sparse A is densified. The report carries a condition estimate.
template <class T>
using CroutParallel = SolverOf<T, CroutParallelOptions>;

}  // namespace echelon

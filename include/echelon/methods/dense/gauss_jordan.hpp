// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API GaussJordanOptions {
  static constexpr std::string_view name = "gauss-jordan";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Threshold of dependence: a column depends on those before it if its pivot is at most this times
  /// ||A||_inf; default 4 sqrt(max(m, n)) times the machine epsilon.
  std::optional<double> tolerance = {};
  /// Scale rows and columns first, by powers of two.
  bool equilibrate = true;
  /// Largest number of steps of iterative refinement, 0 to 10. If A is nearly singular, ten are taken, unless
  /// this is 0.
  std::int64_t refine = 1;
  /// Number of columns of a panel, at most 4096; 0: chosen by the size of A.
  std::int64_t block = 0;
  /// Precision of the elimination for a square A. Answers are refined; if they do not become accurate enough,
  /// the elimination is repeated in the working precision.
  Precision factor_precision = Precision::working;
  /// Backward error that an elimination with a lower factor_precision has to reach, 0 to 1; for solving at
  /// most 1e-10 (float: 1e-4). Default: sqrt(n) times the machine epsilon, with refinement continued below
  /// that while it helps.
  std::optional<double> accuracy = {};

  /// Describes each option.
  static std::vector<Option<GaussJordanOptions>> table();
};

/// Blocked Gauss-Jordan elimination with partial pivoting as a solver for A of any shape; a sparse A is
/// densified. n^3 flops and n^2 elements for the elimination of a square A, which is kept as a product of
/// panels, and 2 n^2 flops a right-hand side (twice that with each step of refinement). If the columns are
/// dependent by the tolerance, every right-hand side is reported as `underdetermined`, with a particular
/// solution, or `inconsistent`, with a row that contradicts the others; if the rows are dependent, as
/// `inconsistent` if they contradict each other. Complex matrices are eliminated on the host, in their own
/// precision, and their ranks are known to working precision: exact ones are those of real matrices.
/// <echelon/rref.hpp> also gives the null space, the reduced
/// row echelon form and the inverse.
template <class T>
using GaussJordan = SolverOf<T, GaussJordanOptions>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/device.hpp>
#include <echelon/export.h>
#include <echelon/matrix/matrix.hpp>
#include <echelon/report.hpp>

#include <span>
#include <vector>

namespace echelon {

/// A weighted least-squares problem with equality constraints:
///
///   minimise sum_i w_i |b - A x|_i^2  subject to  C x = d
///
/// with elements T.
template <class T>
struct ECHELON_API ConstrainedProblemOf {
  MatrixRef<T> A;        ///< m by n
  std::span<const T> b;  ///< m elements
  /// p by n; without it there are no constraints.
  MatrixRef<T> C = {};
  std::span<const T> d = {};  ///< p elements
  /// m numbers of at least zero; none: 1 for each row. A weight of zero leaves the row out.
  std::span<const double> weights = {};
};
using ConstrainedProblem = ConstrainedProblemOf<double>;

template <class T>
struct ECHELON_API ConstrainedSolutionOf {
  std::vector<T> x;             ///< n elements
  std::vector<T> multipliers;   ///< p elements: A^H W (b - A x) = C^H multipliers
  double residual_norm = 0;     ///< sqrt(sum_i w_i |b - A x|_i^2)
  double constraint_error = 0;  ///< ||C x - d||_inf / (||C||_inf ||x||_inf + ||d||_inf)
  /// ||A^H W (b - A x) - C^H multipliers||_inf relative to the sums of the magnitudes of its terms.
  double gradient_error = 0;
  Report report;  ///< of the system that was solved
};
using ConstrainedSolution = ConstrainedSolutionOf<double>;

/// Solves by a factorisation L D L^H of
///
///   [ s I   A_w    0  ] [ r / s ]   [ b_w ]
///   [ A_w^H  0    C^H ] [   x   ] = [  0  ]     A_w = W^(1/2) A, b_w = W^(1/2) b,
///   [  0     C     0  ] [ -l / s ]  [  d  ]
///
/// with the multipliers l, on the host. Constraints hold to rounding errors, and are not weights. The status
/// of the report is `singular` or `underdetermined` if A and C have a null vector in common or the rows of C
/// depend on each other, and `inconsistent` if no x satisfies the constraints, as far as the factors show it.
/// Time and memory: those of `sparse-ldlt` for a matrix of order m + n + p.
///
/// Throws DimensionMismatch, Error for weights that are negative or not finite, OutOfMemory. A. Bjoerck,
/// Numerical Methods for Least Squares Problems, SIAM (1996), section 5.1.
template <class T>
[[nodiscard]] ECHELON_API ConstrainedSolutionOf<T> constrained_least_squares(
    const ConstrainedProblemOf<T>& problem, const Device& device = {});
[[nodiscard]] inline ConstrainedSolution constrained_least_squares(const ConstrainedProblem& problem,
                                                                   const Device& device = {}) {
  return constrained_least_squares<double>(problem, device);
}

}  // namespace echelon

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
///   minimise sum_i w_i (b - A x)_i^2  subject to  C x = d.
struct ECHELON_API ConstrainedProblem {
  MatrixRef<double> A;        ///< m by n
  std::span<const double> b;  ///< m elements
  /// p by n; without it there are no constraints.
  MatrixRef<double> C = {};
  std::span<const double> d = {};  ///< p elements
  /// m numbers of at least zero; none: 1 for each row. A weight of zero leaves the row out.
  std::span<const double> weights = {};
};

struct ECHELON_API ConstrainedSolution {
  std::vector<double> x;            ///< n elements
  std::vector<double> multipliers;  ///< p elements: A^T W (b - A x) = C^T multipliers
  double residual_norm = 0;         ///< sqrt(sum_i w_i (b - A x)_i^2)
  double constraint_error = 0;      ///< ||C x - d||_inf / (||C||_inf ||x||_inf + ||d||_inf)
  /// ||A^T W (b - A x) - C^T multipliers||_inf relative to the sums of the magnitudes of its terms.
  double gradient_error = 0;
  Report report;  ///< of the system that was solved
};

/// Solves by a factorisation L D L^T of
///
///   [ s I   A_w    0  ] [ r / s ]   [ b_w ]
///   [ A_w^T  0    C^T ] [   x   ] = [  0  ]     A_w = W^(1/2) A, b_w = W^(1/2) b,
///   [  0     C     0  ] [ -l / s ]  [  d  ]
///
/// with the multipliers l, on the host. Constraints hold to rounding errors, and are not weights. The status
/// of the report is `singular` or `underdetermined` if A and C have a null vector in common or the rows of C
/// depend on each other, and `inconsistent` if no x satisfies the constraints, as far as the factors show it.
/// Time and memory: those of `sparse-ldlt` for a matrix of order m + n + p.
///
/// Throws DimensionMismatch, Error for weights that are negative or not finite, OutOfMemory. A. Bjoerck,
/// Numerical Methods for Least Squares Problems, SIAM (1996), section 5.1.
[[nodiscard]] ECHELON_API ConstrainedSolution constrained_least_squares(const ConstrainedProblem& problem,
                                                                        const Device& device = {});

}  // namespace echelon

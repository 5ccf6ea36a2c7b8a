// SPDX-License-Identifier: BSD-3-Clause
/// Condition estimates from the Lanczos process that runs inside conjugate gradients.
#pragma once

#include <vector>

namespace echelon {

/// The extreme Ritz values of M^-1 A on the Krylov space of a CG run.
struct RitzRange {
  double smallest = 0;
  double largest = 0;
};

/// The extreme eigenvalues of the k-by-k tridiagonal T with
///   t_jj = 1 / alpha_j + beta_{j-1} / alpha_{j-1},   t_{j,j+1} = sqrt(beta_j) / alpha_j,
/// to three digits, from k step lengths alpha and k - 1 (or more) coefficients beta of CG. They lie inside
/// the spectrum of M^-1 A, so their ratio is a lower bound of its condition number. O(k) time for each of
/// some 60 bisection steps. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., section 6.7.3.
[[nodiscard]] RitzRange ritz_range(const std::vector<double>& alpha, const std::vector<double>& beta);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Proven bounds on a residual.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <vector>

namespace echelon::certification {

/// Upper bounds of |b_i - sum_j a_ij x_j|, one for each row i. The sums are computed with twice the
/// precision, so that bounds are not much larger than the rounding of x makes unavoidable; a bound is
/// infinite after an overflow. A is on the host. O(nonzeros) time. T. Ogita, S. Rump, S. Oishi, Accurate sum
/// and dot product, SIAM J. Sci. Comput. 26 (2005).
[[nodiscard]] std::vector<double> residual_bound(const Csr<double>& A, const std::vector<double>& b,
                                                 const std::vector<double>& x);

}  // namespace echelon::certification

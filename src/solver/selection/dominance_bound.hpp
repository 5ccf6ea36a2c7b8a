// SPDX-License-Identifier: BSD-3-Clause
/// Bound on the error of x by the diagonal dominance of A.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <optional>

namespace echelon {

/// Upper bound of ||x - x*||_inf / ||x||_inf for the solution x* of A x* = b, for a square A on the host: the
/// largest |r_i| / (|a_ii| - sum of |a_ij|, j /= i), with r = b - A x and bounds on all rounding errors, over
/// ||x||_inf. None unless every row is strictly dominant. Reads A once, in parallel.
/// J. M. Varah, A lower bound for the smallest singular value of a matrix, Linear Algebra Appl. 11 (1975),
/// bounds ||A^-1||_inf so; the rows one by one give a bound that does not depend on their scaling.
template <class T>
[[nodiscard]] std::optional<double> dominance_error_bound(const Csr<T>& A, const T* b, const T* x);

}  // namespace echelon

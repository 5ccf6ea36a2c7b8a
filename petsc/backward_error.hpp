// SPDX-License-Identifier: BSD-3-Clause
/// Backward error of a solution, for matrices of the host.
#pragma once

#include <echelon/matrix/matrix.hpp>

#include <span>

namespace echelon::petsc {

/// Normwise backward error ||b - A x|| / (||A|| ||x|| + ||b||) in the maximum norm; NaN if x or b has one.
/// One pass over the elements.
[[nodiscard]] double backward_error(const Matrix<double>& A, std::span<const double> b,
                                    std::span<const double> x);

}  // namespace echelon::petsc

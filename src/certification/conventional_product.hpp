// SPDX-License-Identifier: BSD-3-Clause
/// Products of matrices whose rounding errors have the a priori bound.
#pragma once

#include <echelon/matrix/dense.hpp>

namespace echelon {
class Host;
class Cuda;
}  // namespace echelon

namespace echelon::certification {

/// Computes C = C - A B, where each element of C is computed from itself and its n products, n being the
/// order of A, by operations rounded to nearest in double, in any order, fused or not: its error is at most
/// gamma_{n+1} times the sum of their magnitudes, underflow apart. Neither fast multiplication nor emulation
/// is used.
void subtract_conventional_product(Host& backend, DenseView<const double> A, DenseView<const double> B,
                                   DenseView<double> C);
void subtract_conventional_product(Cuda& backend, DenseView<const double> A, DenseView<const double> B,
                                   DenseView<double> C);

}  // namespace echelon::certification

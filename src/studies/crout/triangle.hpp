// SPDX-License-Identifier: BSD-3-Clause
/// Solves with a triangle of packed factors, one version per backend.
#pragma once

#include "dense/factorization/packed_factors.hpp"

#include <echelon/matrix/dense.hpp>

namespace echelon {
class Host;
class OpenCl;
}  // namespace echelon

namespace echelon::crout {

/// X = M^-1 X, or M^-T X, for a triangle M of the column-major factors. n^2 flops a column.
template <class T>
void solve_triangle(Host& backend, DenseView<const T> factors, PackedTriangle triangle, bool transposed,
                    DenseView<T> X);
template <class T>
void solve_triangle(OpenCl& backend, DenseView<const T> factors, PackedTriangle triangle, bool transposed,
                    DenseView<T> X);

}  // namespace echelon::crout

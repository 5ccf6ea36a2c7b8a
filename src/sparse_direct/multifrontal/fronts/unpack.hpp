// SPDX-License-Identifier: BSD-3-Clause
/// Results that are read from the fronts of a factorisation without a border.
#pragma once

#include "linalg/determinant_product.hpp"
#include "sparse_direct/multifrontal/fronts/factors.hpp"

#include <echelon/solver/factors.hpp>

namespace echelon::sparse_direct {

/// Determinant of the factored matrix, whose rank is full. O(n). Throws Error after perturbed pivots.
template <class T>
[[nodiscard]] DeterminantProduct pivot_product(const MultifrontalFactors<T>& factors);

/// Inertia of a real symmetric or a Hermitian matrix. O(1). Throws Error after perturbed pivots.
template <class T>
[[nodiscard]] Inertia inertia_of(const MultifrontalFactors<T>& factors);

/// Copies the elements other than zero of factors of full rank; the scales are left to the caller. O(e log e)
/// for e elements. Throws Error after perturbed pivots, OutOfMemory.
template <class T>
[[nodiscard]] MatrixFactors<T> unpack(const MultifrontalFactors<T>& factors);

}  // namespace echelon::sparse_direct

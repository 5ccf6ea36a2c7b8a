// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/left_looking/factors.hpp"

namespace echelon::sparse_direct {

/// Computes X = (P A Q)^-1 X, or its transpose, for at most 16 right-hand sides that are stored row by row:
/// element (i, c) is x[i * columns + c]. Rows and columns have the numbers of their pivots.
template <class T>
void substitute(const LeftLookingFactors<T>& factors, bool transposed, int columns, T* x);

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
/// Forward and backward substitution with the factors of a multifrontal factorisation on the host.
#pragma once

#include "sparse_direct/multifrontal/fronts/factors.hpp"

#include <cstdint>

namespace echelon::sparse_direct {

/// Right-hand sides that are solved for together: the factors are read once for all of them.
inline constexpr int columns_at_once = 16;

/// Number of elements of scratch memory for a substitution with `columns` right-hand sides.
template <class T>
[[nodiscard]] std::int64_t substitution_scratch(const MultifrontalFactors<T>& factors, int columns) {
  return static_cast<std::int64_t>(factors.largest_front) * columns;
}

/// Computes X = (P A Q)^-1 X, or its transpose, for `columns` right-hand sides that are stored row by row:
/// element (i, c) is x[i * columns + c]. Rows and columns have the numbers of their pivots; the elements of x
/// after the last pivot are left as they come out of the forward substitution, and count as zero in the
/// backward one.
template <class T>
void substitute(const MultifrontalFactors<T>& factors, bool transposed, int columns, T* x, T* scratch);

}  // namespace echelon::sparse_direct

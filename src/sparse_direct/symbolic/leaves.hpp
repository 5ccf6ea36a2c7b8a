// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/symbolic/supernodes.hpp"
#include "sparse_direct/symbolic/symbolic_factor.hpp"

namespace echelon::sparse_direct {

/// Merges neighbouring supernodes without children that have the same parent and nearly the same rows: the
/// rows of a matrix that only its dense rows connect. Each of them alone would have an update matrix of the
/// square of its rows. The zeros that a merged supernode stores are less than limits.zeros[2] of its entries
/// up to limits.columns[2] columns, and less than limits.zeros[3] beyond. O(rows of such supernodes) time.
void merge_leaves(const AmalgamationLimits& limits, SymbolicFactor& factor);

}  // namespace echelon::sparse_direct

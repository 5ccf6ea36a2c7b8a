// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/pattern/pattern.hpp"

#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// Upper bounds on the cost of a factorisation without pivoting, a by-product of the ordering.
struct DegreeBounds {
  double entries = 0;   ///< of L, the diagonal included
  double lu_flops = 0;  ///< of L U
};

/// Approximate minimum degree ordering by SuiteSparse's AMD: result[k] is the k-th row to eliminate. The
/// pattern need not be symmetric; that of A + A^T is ordered, in less time if only A's is given. Rows
/// with more than 10 sqrt(n) entries come last. Any number of threads may call it at once. Memory: about 1.2
/// * entries + 9 n integers of 32 bits, or of 64 bits beyond 2^31. Throws OutOfMemory. P. Amestoy, T. Davis,
/// I. Duff, An approximate minimum degree ordering algorithm, SIAM J. Matrix Anal. Appl. 17 (1996).
[[nodiscard]] std::vector<std::int32_t> minimum_degree_ordering(const Pattern& a,
                                                                DegreeBounds* bounds = nullptr);

}  // namespace echelon::sparse_direct

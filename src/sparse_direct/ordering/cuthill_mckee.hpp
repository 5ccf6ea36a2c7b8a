// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/pattern/pattern.hpp"

#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// Reverse Cuthill-McKee ordering, which gathers the entries near the diagonal: each connected component is
/// numbered breadth first from one of its ends, neighbours by ascending degree, and the numbers are reversed.
/// O(n + entries) time.
/// E. Cuthill, J. McKee, Reducing the bandwidth of sparse symmetric matrices, ACM National Conference (1969).
/// The ends are found as in A. George, J. Liu, An implementation of a pseudoperipheral node finder, ACM
/// Trans. Math. Softw. 5 (1979).
[[nodiscard]] std::vector<std::int32_t> reverse_cuthill_mckee(const Pattern& a);

}  // namespace echelon::sparse_direct

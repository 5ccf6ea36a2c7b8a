// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/pattern/pattern.hpp"

#include <cstdint>

namespace echelon::sparse_direct {

/// A lower bound of the half-bandwidth max |i - j| of P A P^T over all permutations P. The rows that are at
/// most l steps in the graph of A from one row differ from its number by at most l half-bandwidths b, so that
/// there are at most 2 l b + 1 of them; they are counted by breadth-first searches from a few rows. `a` may
/// be the pattern of an unsymmetric matrix, whose searches follow the rows only. A search ends as soon as the
/// bound exceeds `enough`, after 2 `enough` steps at the latest: O(enough^2) rows, and n elements of memory.
[[nodiscard]] std::int64_t half_bandwidth_bound(const Pattern& a, std::int64_t enough);

/// Steps of a breadth-first search from the row in the middle until it has met `rows` rows, or all that it
/// can reach: about the square root of their number in a mesh of two dimensions, the cube root in three.
[[nodiscard]] std::int64_t steps_to_meet(const Pattern& a, std::int64_t rows);

}  // namespace echelon::sparse_direct

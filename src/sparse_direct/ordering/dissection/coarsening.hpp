// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/ordering/dissection/weighted_graph.hpp"

#include <cstdint>

namespace echelon::sparse_direct {

/// Merges pairs of neighbours with heavy edges, and vertices with a common neighbour where too many have no
/// partner. No cluster weighs more than `largest_weight`. The result does not depend on the number of
/// threads. Every vertex proposes to its best free neighbour, and mutual proposals are accepted, in several
/// rounds: F. Manne, R. Bisseling, A parallel approximation algorithm for the weighted maximum matching
/// problem, PPAM (2007).
[[nodiscard]] CoarseGraph coarsened(const WeightedGraph& graph, std::int64_t largest_weight, int threads);

}  // namespace echelon::sparse_direct

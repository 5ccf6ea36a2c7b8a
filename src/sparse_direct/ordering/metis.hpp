// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/pattern/pattern.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// Nested dissection by METIS_NodeND with its default options and a fixed seed: result[k] is the k-th row to
/// eliminate. Calls are serialised by a lock: METIS draws from the C library's random numbers, whose state is
/// kept apart from the caller's during the call. Its signal handlers are kept apart as well, by
/// call_with_own_signals(). Another thread that calls rand() meanwhile may change the ordering. Throws
/// OutOfMemory, and Error when METIS fails or returns no permutation. G. Karypis, V. Kumar, A fast and high
/// quality multilevel scheme for partitioning irregular graphs, SIAM J. Sci. Comput. 20 (1998).
[[nodiscard]] std::vector<std::int32_t> metis_ordering(const Pattern& a);

/// Part of each vertex, 0, ..., parts - 1, of about equal sizes and with few cut edges, by
/// METIS_PartGraphKway with its default options and a fixed seed, under the conditions of metis_ordering().
/// Parts may be empty or not connected. `weights` has a positive weight for each entry of the pattern, which
/// has no diagonal then; if it is empty, all edges weigh the same. Throws OutOfMemory, and Error when METIS
/// fails.
[[nodiscard]] std::vector<std::int32_t> metis_partition(const Pattern& a,
                                                        std::span<const std::int32_t> weights,
                                                        std::int32_t parts);

}  // namespace echelon::sparse_direct

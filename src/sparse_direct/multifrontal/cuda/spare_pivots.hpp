// SPDX-License-Identifier: BSD-3-Clause
/// Spare pivots of symmetric indefinite fronts: rows and columns of the identity, with which those columns
/// exchange places that have no pivot in their block.
#pragma once

#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <cstdint>
#include <vector>

namespace echelon::sparse_direct::gpu {

/// The assembly tree of a matrix that is continued by an identity.
struct SpareSymbolic {
  /// The symbolic factor, whose permutation has -1 for spare columns.
  SymbolicFactor symbolic;
  /// Number of spare pivots of each supernode, its last ones.
  std::vector<std::int32_t> spare;
};

/// Adds spare pivots to each supernode of more than one block of pivots, after its own. Statistics stay
/// those of the matrix. O(n + rows) time.
[[nodiscard]] SpareSymbolic add_spare_pivots(SymbolicFactor symbolic);

}  // namespace echelon::sparse_direct::gpu

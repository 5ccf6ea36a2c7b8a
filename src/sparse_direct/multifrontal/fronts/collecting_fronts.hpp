// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/symbolic/symbolic_factor.hpp"

#include <cstdint>
#include <functional>

namespace echelon::sparse_direct {

/// Inserts collecting fronts between parents with very many children and these: supernodes without pivots,
/// whose update matrix is allocated before their first child is factored, and which add the update matrix of
/// each child when it is complete. A parent that waits for all of its children would keep all of their update
/// matrices, which may need many times the memory of the factors: a row that has entries in the dense rows of
/// a matrix only is a child with one pivot. The fronts do not depend on the number of threads.
///
/// `panel_entries(pivots, rows)`: elements of the factors of a front. O(supernodes + rows) time.
[[nodiscard]] SymbolicFactor with_collecting_fronts(
    SymbolicFactor tree, const std::function<std::int64_t(std::int64_t, std::int64_t)>& panel_entries);

/// True for a collecting front of a tree.
[[nodiscard]] inline bool is_collecting(const SymbolicFactor& tree, std::int64_t s) {
  return tree.pivots(s) == 0 && tree.parent[s] >= 0;
}

}  // namespace echelon::sparse_direct

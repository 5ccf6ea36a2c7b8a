// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/ordering/dissection/separator_tree.hpp"
#include "sparse_direct/pattern/pattern.hpp"

#include <cstdint>
#include <span>

namespace echelon::sparse_direct {

/// Orders the vertices of a leaf of a separator tree, in place, by minimum degree. The neighbours in
/// separators, which are eliminated later, count for the degrees: SuiteSparse's CAMD with two constraint
/// sets. `position` is scratch memory with an element for every vertex; those of the leaf are used. Throws
/// OutOfMemory.
void order_leaf(const Pattern& a, std::span<const SeparatorTree::Node> label,
                std::span<std::int32_t> vertices, std::span<std::int32_t> position);

}  // namespace echelon::sparse_direct

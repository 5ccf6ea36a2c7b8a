// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sparse_direct/pattern/pattern.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// Parent of each column of L in the elimination tree of a pattern whose rows are eliminated as they stand,
/// or -1: the row of the first nonzero below the diagonal. Nearly O(entries) time, with path compression
/// (Liu). Threads share the ranges of columns without entries in columns before them, such as the parts of a
/// dissection.
[[nodiscard]] std::vector<std::int32_t> elimination_tree(const Pattern& a, int threads = 1);

/// Nonzeros of each column of L, the diagonal included, in nearly O(entries) time (Gilbert, Ng, Peyton).
/// `postorder` is a postorder of the elimination tree.
[[nodiscard]] std::vector<std::int32_t> column_counts(const Pattern& a, std::span<const std::int32_t> parent,
                                                      std::span<const std::int32_t> postorder,
                                                      int threads = 1);

/// The columns of L for one ordering of a pattern.
struct EliminationForest {
  std::vector<std::int32_t> permutation;  ///< new -> old, postordered
  std::vector<std::int32_t> parent;       ///< of each new column, or -1
  std::vector<std::int32_t> counts;       ///< nonzeros of each new column of L
  std::int64_t factor_entries = 0;        ///< sum of the counts
  double flops = 0;                       ///< sum of the squared counts
};
/// Refines an ordering to an equivalent postordered one, and predicts its factor.
[[nodiscard]] EliminationForest elimination_forest(const Pattern& a,
                                                   std::span<const std::int32_t> permutation,
                                                   int threads = 1);

}  // namespace echelon::sparse_direct

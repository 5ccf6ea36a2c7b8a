// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/symbolic/elimination_tree.hpp"

#include "sparse_direct/symbolic/tree.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Counts the leaves of row subtrees. Row i of L is a subtree of the elimination tree, its row subtree; each
/// column j with an entry a_ij may be a leaf of it. A column's count is the sum, over its subtree, of +1 for
/// each row subtree that has a leaf there, and -1 for each in which two branches meet there.
class LeafCounter {
 public:
  LeafCounter(std::span<const std::int32_t> parent, std::span<const std::int32_t> postorder)
      : parent_(parent),
        delta_(parent.size(), 0),
        first_descendant_(parent.size(), -1),
        largest_first_(parent.size(), -1),
        previous_leaf_(parent.size(), -1),
        ancestor_(parent.size()) {
    for (std::int32_t rank = 0; rank < static_cast<std::int32_t>(postorder.size()); ++rank) {
      std::int32_t j = postorder[rank];
      ancestor_[j] = j;
      delta_[j] = first_descendant_[j] < 0 ? 1 : 0;  // a leaf of the tree is a leaf of its own row subtree
      for (; j >= 0 && first_descendant_[j] < 0; j = parent_[j]) first_descendant_[j] = rank;
    }
  }

  /// Counts column j, whose turn in the postorder has come.
  void add(const Pattern& a, std::int32_t j) {
    const std::int32_t parent = parent_[j];
    if (parent >= 0) --delta_[parent];  // j is no row of its parent's column
    for (const std::int32_t i : a.row(j)) {
      if (i > j && first_descendant_[j] > largest_first_[i]) add_leaf(i, j);
    }
    if (parent >= 0) ancestor_[j] = parent;
  }

  /// The sums over the subtrees.
  std::vector<std::int32_t> counts(std::span<const std::int32_t> postorder) {
    for (const std::int32_t j : postorder) {
      if (parent_[j] >= 0) delta_[parent_[j]] += delta_[j];
    }
    return std::move(delta_);
  }

 private:
  /// Records that j is a leaf of the row subtree of i.
  void add_leaf(std::int32_t i, std::int32_t j) {
    ++delta_[j];
    largest_first_[i] = first_descendant_[j];
    const std::int32_t previous = previous_leaf_[i];
    previous_leaf_[i] = j;
    if (previous >= 0)
      --delta_[representative(previous)];  // the branches meet in their lowest common ancestor
  }

  /// The root of the part of the tree that holds j and is done, with path compression.
  std::int32_t representative(std::int32_t j) {
    std::int32_t root = j;
    while (ancestor_[root] != root) root = ancestor_[root];
    while (ancestor_[j] != root) {
      const std::int32_t next = ancestor_[j];
      ancestor_[j] = root;
      j = next;
    }
    return root;
  }

  std::span<const std::int32_t> parent_;
  std::vector<std::int32_t> delta_;
  std::vector<std::int32_t> first_descendant_;  // smallest rank in the postorder within the subtree
  std::vector<std::int32_t> largest_first_;     // of the leaves of a row subtree found so far
  std::vector<std::int32_t> previous_leaf_;     // of a row subtree
  std::vector<std::int32_t> ancestor_;
};

}  // namespace

std::vector<std::int32_t> elimination_tree(const Pattern& a) {
  std::vector<std::int32_t> parent(static_cast<std::size_t>(a.n), -1);
  std::vector<std::int32_t> ancestor(static_cast<std::size_t>(a.n), -1);
  for (std::int32_t k = 0; k < a.n; ++k) {
    for (std::int32_t i : a.row(k)) {
      // The path from i to its root so far; it will lead to k directly.
      while (i >= 0 && i < k) {
        const std::int32_t next = ancestor[i];
        ancestor[i] = k;
        if (next < 0) parent[i] = k;
        i = next;
      }
    }
  }
  return parent;
}

std::vector<std::int32_t> column_counts(const Pattern& a, std::span<const std::int32_t> parent,
                                        std::span<const std::int32_t> postorder) {
  LeafCounter counter(parent, postorder);
  for (const std::int32_t j : postorder) counter.add(a, j);
  return counter.counts(postorder);
}

EliminationForest elimination_forest(const Pattern& a, std::span<const std::int32_t> permutation) {
  const PatternStorage permuted = permuted_pattern(a, permutation);
  const std::vector<std::int32_t> parent = elimination_tree(permuted.view());
  const std::vector<std::int32_t> order = postorder(parent, Children(parent));
  const std::vector<std::int32_t> counts = column_counts(permuted.view(), parent, order);

  EliminationForest forest;
  forest.parent = renumbered(parent, order);
  forest.permutation.reserve(order.size());
  forest.counts.reserve(order.size());
  for (const std::int32_t column : order) {
    const std::int32_t count = counts[column];
    forest.permutation.push_back(permutation[column]);
    forest.counts.push_back(count);
    forest.factor_entries += count;
    forest.flops += static_cast<double>(count) * count;
  }
  return forest;
}

}  // namespace echelon::sparse_direct

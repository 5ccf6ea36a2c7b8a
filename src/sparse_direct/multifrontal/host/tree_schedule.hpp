// SPDX-License-Identifier: BSD-3-Clause
/// Division of an assembly tree into subtrees that one thread each factors, and the fronts above them.
#pragma once

#include "sparse_direct/multifrontal/fronts/front_layout.hpp"

#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// Supernodes begin, ..., end - 1, all descendants included: a subtree, or several of one parent.
struct SupernodeRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

/// Subtrees of bounded cost, and the supernodes above them.
struct TreeDivision {
  std::vector<SupernodeRange> ranges;  ///< disjoint, ascending
  std::vector<std::int32_t> top;       ///< supernodes in no range, ascending
};

/// Gathers neighbouring subtrees of the same parent whose costs together are within the limit into ranges. A
/// front without children has a range of its own if it is above the limit. A collecting front and its
/// descendants stay in one range. `costs`: of each subtree.
[[nodiscard]] TreeDivision divide_tree(const SymbolicFactor& tree, std::vector<double> costs, double limit);

struct TreeSchedule {
  /// Fronts with fewer rows are factored by one thread.
  static constexpr std::int64_t divided_front = 512;
  bool parallel = false;
  /// Disjoint, ascending; one range of all supernodes unless `parallel`.
  std::vector<SupernodeRange> ranges;
  /// Supernodes in no range, ascending.
  std::vector<std::int32_t> top;
  /// Offset of the update matrix of each supernode in the stack of its range; -1 if that matrix is passed to
  /// a front outside the range, or the supernode is in none.
  std::vector<std::int64_t> update_begin;
  /// Size of the stack that each range needs.
  std::vector<std::int64_t> stack_entries;
  /// Flops of each supernode and all of its descendants.
  std::vector<double> subtree_flops;
  /// Flops of all fronts, the same for every kind of factorisation up to a factor.
  double flops = 0;
};

/// Divides the tree; the division depends on the number of threads, but the computed factors do not.
[[nodiscard]] TreeSchedule schedule_tree(const FrontLayout& layout, int threads);

}  // namespace echelon::sparse_direct

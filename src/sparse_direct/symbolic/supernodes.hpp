// SPDX-License-Identifier: BSD-3-Clause
/// Supernodes: columns of L with the same nonzeros below a dense triangle, which are eliminated as one front.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

/// Rules of relaxed amalgamation. A child is merged into its parent if that stores no zeros, if both have at
/// most columns[0] columns, or if they have at most columns[k] columns and the zeros stored so far in them
/// are less than the fraction zeros[k] of their entries; with more columns, less than zeros[3]. Whatever the
/// zeros, it is merged if the front then has at most `front` rows.
struct AmalgamationLimits {
  std::int32_t columns[3] = {4, 16, 48};
  double zeros[4] = {1.0, 0.8, 0.1, 0.05};
  std::int32_t front = 0;
  /// Limits without relaxation: supernodes are merged only if no zero is stored.
  [[nodiscard]] static AmalgamationLimits none() { return {{0, 0, 0}, {0, 0, 0, 0}}; }
};

/// A forest of supernodes over columns in postorder.
struct SupernodeForest {
  /// S + 1 offsets into `columns`.
  std::vector<std::int32_t> begin;
  /// Columns of each supernode, ascending.
  std::vector<std::int32_t> columns;
  std::vector<std::int32_t> parent;      ///< greater than the child, or -1
  std::vector<std::int32_t> front_size;  ///< columns of the supernode and rows below them
  std::int64_t stored_entries = 0;       ///< of all supernodes: triangles and the rows below them

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(parent.size()); }
  [[nodiscard]] std::int64_t pivots(std::int64_t s) const { return begin[s + 1] - begin[s]; }
  /// Order of the update matrix that supernode s passes to its parent.
  [[nodiscard]] std::int64_t update_size(std::int64_t s) const { return front_size[s] - pivots(s); }
};

/// Fundamental supernodes: chains of the elimination tree without branches in which each column has the
/// nonzeros of the next one and its own diagonal. parent and counts belong to columns in postorder.
[[nodiscard]] SupernodeForest fundamental_supernodes(std::span<const std::int32_t> parent,
                                                     std::span<const std::int32_t> counts);

/// Merges supernodes with their parents, from the leaves to the roots. Fewer and larger fronts cost zeros in
/// L, and save assembly. C. Ashcraft, R. Grimes, The influence of relaxed supernode partitions on the
/// multifrontal method, ACM Trans. Math. Softw. 15 (1989). The limits are CHOLMOD's.
[[nodiscard]] SupernodeForest amalgamated(const SupernodeForest& forest, const AmalgamationLimits& limits,
                                          int threads = 1);

/// Order in which to process the supernodes of a forest, and the memory of the stack.
struct StackOrder {
  std::vector<std::int32_t> order;  ///< a postorder
  /// Largest total size of the update matrices, stored as squares, that wait for their parents.
  std::int64_t peak_entries = 0;
};
/// The postorder with the smallest stack of update matrices.
/// J. Liu, On the storage requirement in the out-of-core multifrontal method for sparse factorization, ACM
/// Trans. Math. Softw. 12 (1986).
[[nodiscard]] StackOrder smallest_stack_order(const SupernodeForest& forest);

}  // namespace echelon::sparse_direct

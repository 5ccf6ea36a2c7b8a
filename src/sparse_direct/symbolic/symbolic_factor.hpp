// SPDX-License-Identifier: BSD-3-Clause
/// Symbolic factorisation: the assembly tree of a sparse symmetric factorisation, and what it will cost.
#pragma once

#include "sparse_direct/ordering/ordering.hpp"
#include "sparse_direct/pattern/pattern.hpp"
#include "sparse_direct/symbolic/elimination_tree.hpp"
#include "sparse_direct/symbolic/supernodes.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace echelon::sparse_direct {

/// Assembly tree of a square matrix with a symmetric pattern (that of A for symmetric A, else of
/// P A + (P A)^T), after a symmetric permutation. Supernodes are postordered: the descendants of supernode s
/// are the supernodes immediately before it, and their pivot columns immediately before its own.
///
/// With a border, the last columns of the permuted matrix are pivots of no supernode: the last supernode, the
/// only root, has no pivots, and the border is its rows. What the others pass to it is the Schur complement
/// of the border.
struct SymbolicFactor {
  std::int64_t n = 0;
  /// Column permutation[k] of the analysed matrix is eliminated as k-th (new -> old).
  std::vector<std::int32_t> permutation;
  /// S + 1 offsets: the pivot columns of supernode s are supernode_begin[s], ..., supernode_begin[s + 1] - 1.
  std::vector<std::int32_t> supernode_begin;
  /// Parent of each supernode, which is greater than it, or -1 for a root.
  std::vector<std::int32_t> parent;
  std::vector<std::int64_t> row_begin;  ///< S + 1 offsets into rows
  /// Rows of each front below its pivot columns: new indices, ascending. The first of them, if any, is a
  /// pivot column of the parent.
  std::vector<std::int32_t> rows;
  std::string ordering;             ///< the word of the ordering that was chosen, or "given"
  std::int64_t factor_entries = 0;  ///< of L: one triangle with its diagonal, without amalgamation's zeros
  double flops = 0;                 ///< of a Cholesky factorisation: sum of squared column counts; LU: twice
  std::int64_t stored_entries = 0;  ///< factor_entries and amalgamation's zeros
  /// Largest total size of the update matrices (squares of the fronts' row counts) that wait for their
  /// parents when fronts are processed in the order 0, ..., S - 1.
  std::int64_t stack_peak_entries = 0;

  [[nodiscard]] std::int64_t supernodes() const { return static_cast<std::int64_t>(parent.size()); }
  /// Columns that are eliminated: all but the border.
  [[nodiscard]] std::int64_t interior() const { return supernode_begin.empty() ? 0 : supernode_begin.back(); }
  [[nodiscard]] std::int64_t border() const { return n - interior(); }
  [[nodiscard]] std::int64_t pivots(std::int64_t s) const {
    return supernode_begin[s + 1] - supernode_begin[s];
  }
  [[nodiscard]] std::span<const std::int32_t> rows_of(std::int64_t s) const {
    return std::span(rows).subspan(static_cast<std::size_t>(row_begin[s]),
                                   static_cast<std::size_t>(row_begin[s + 1] - row_begin[s]));
  }
  /// Order of the front of supernode s: its pivot columns and the rows below them.
  [[nodiscard]] std::int64_t front_size(std::int64_t s) const {
    return pivots(s) + row_begin[s + 1] - row_begin[s];
  }
};

/// True for large graphs whose vertices have similar degrees that are not very small: meshes, for which
/// dissection is better than minimum degree.
[[nodiscard]] bool is_large_mesh(const Pattern& a);

/// True if a tree of this height is so much higher than that of a dissection, about log2(n), that the time of
/// another ordering is less than what the levels take on a GPU in this number of factorisations.
[[nodiscard]] bool is_too_high_for_gpu(std::int64_t height, std::int64_t n, std::int64_t factorizations);

/// True if dissection may save its own time for a symmetric factorisation that takes `flops` after an
/// ordering by minimum degree. It takes about the time of 12,000 flops on one core for each row and of 4000
/// for each entry, and saves half of the flops of minimum degree on matrices that suit it.
[[nodiscard]] bool pays_for_dissection(std::int64_t n, std::int64_t entries, double flops);

/// An ordering of a pattern, and the columns of L that it leads to.
struct OrderedForest {
  EliminationForest forest;
  std::string ordering;  ///< the word of the ordering that was chosen, or "given"
};
/// Orders a pattern, by the ordering with the fewest predicted flops for Ordering::automatic.
[[nodiscard]] OrderedForest ordered_forest(const Pattern& a, const OrderingOptions& options);

struct AnalysisOptions {
  OrderingOptions ordering = {};
  AmalgamationLimits amalgamation = {};
  /// Row with which row i forms a 2-by-2 pivot, or i; empty without pairs. The rows of a pair are ordered
  /// together, and stay neighbours in one supernode: the pattern is analysed as if each had the entries of
  /// both.
  std::span<const std::int32_t> partner = {};
};

/// Orders a pattern and computes its assembly tree. O(n + entries + rows) time after the ordering, with
/// inverse Ackermann factors. Throws OutOfMemory, and BadOption if a given order is not a permutation.
/// Elimination tree: J. Liu, The role of elimination trees in sparse factorization, SIAM J. Matrix Anal.
/// Appl. 11 (1990). Column counts: J. Gilbert, E. Ng, B. Peyton, An efficient algorithm to compute row and
/// column counts for sparse Cholesky factorization, SIAM J. Matrix Anal. Appl. 15 (1994).
[[nodiscard]] SymbolicFactor analyze_symmetric(const Pattern& a, const AnalysisOptions& options = {});

/// The assembly tree of a pattern of which the rows in `border` come last, in this order, and are not
/// eliminated; the other rows are ordered as if they were alone. Counts of entries and flops are those of the
/// eliminated columns, their rows in the border included. `border` holds no row twice, and its rows have no
/// partner but themselves; a given permutation is one of the other rows, which count from 0 in ascending
/// order.
[[nodiscard]] SymbolicFactor analyze_bordered(const Pattern& a, std::span<const std::int32_t> border,
                                              const AnalysisOptions& options = {});

}  // namespace echelon::sparse_direct

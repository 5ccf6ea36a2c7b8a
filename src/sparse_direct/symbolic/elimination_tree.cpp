// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/symbolic/elimination_tree.hpp"

#include "sparse_direct/pattern/chunks.hpp"
#include "sparse_direct/symbolic/closed_ranges.hpp"
#include "sparse_direct/symbolic/tree.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// First column of the smallest closed range that ends with k, for each column k: no column in the range has
/// an entry in a column before it.
std::vector<std::int32_t> closed_range_begins(const Pattern& a, int threads) {
  std::vector<std::int32_t> first(static_cast<std::size_t>(a.n));
  if (threads == 1) return first;
  for_each_chunk(a.n, threads, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      first[k] = static_cast<std::int32_t>(k);
      for (const std::int32_t j : a.row(k)) first[k] = std::min(first[k], j);
    }
  });
  for (std::int32_t k = 0; k < a.n; ++k) {
    std::int32_t begin = k;  // of the ranges before k that one with its entries needs
    while (begin > first[k]) begin = first[begin - 1];
    first[k] = begin;
  }
  return first;
}

/// Makes k the parent of the roots of the trees in which row k has entries.
void add_row(const Pattern& a, std::int32_t k, std::vector<std::int32_t>& ancestor,
             std::vector<std::int32_t>& parent) {
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

/// Counts the leaves of row subtrees. Row i of L is a subtree of the elimination tree, its row subtree; each
/// column j with an entry a_ij may be a leaf of it. A column's count is the sum, over its subtree, of +1 for
/// each row subtree that has a leaf there, and -1 for each in which two branches meet there. Columns have the
/// numbers of a postorder here.
///
/// A closed range of columns is counted independently of the others. The rows after it see it as one more
/// leaf: for each of them, the range passes on the last leaf in it.
class LeafCounter {
 public:
  LeafCounter(const Pattern& a, std::span<const std::int32_t> parent, std::span<const std::int32_t> postorder,
              int threads)
      : a_(a),
        postorder_(postorder),
        threads_(threads),
        rank_(inverse_permutation(postorder, threads)),
        parent_(renumbered(parent, postorder)),
        first_descendant_(first_descendants(parent_)),
        delta_(parent.size(), 0),
        rows_(parent.size()),
        ancestor_(parent.size()) {
    std::iota(ancestor_.begin(), ancestor_.end(), 0);
  }

  /// The counts of the columns, in their own order.
  std::vector<std::int32_t> run() {
    const ForestPartition parts = partition(first_descendant_, threads_);
    std::vector<std::vector<LaterRow>> later(parts.ranges.size());
    for_each_task(std::ssize(parts.ranges), threads_,
                  [&](std::int64_t r) { later[r] = count(parts.ranges[r]); });
    std::size_t range = 0;
    const auto n = static_cast<std::int32_t>(delta_.size());
    for (const std::int32_t j : parts.top) {
      for (; range < parts.ranges.size() && parts.ranges[range].end <= j; ++range) pass_on(later[range]);
      count_leaves(j, n, [&](std::int32_t i) -> RowState& { return rows_[i]; });
      close(j);
    }
    for (const std::int32_t j : parts.top) {
      if (parent_[j] >= 0) delta_[parent_[j]] += delta_[j];
    }
    std::vector<std::int32_t> counts(delta_.size());
    for_each_chunk(std::ssize(counts), threads_, [&](std::int64_t, std::int64_t first, std::int64_t end) {
      for (std::int64_t j = first; j < end; ++j) counts[postorder_[j]] = delta_[j];
    });
    return counts;
  }

 private:
  /// Leaves of a row subtree found so far.
  struct RowState {
    std::int32_t largest_first = -1;  // first descendant of the last leaf
    std::int32_t last_leaf = -1;
  };
  /// A row after a range that has entries in it.
  struct LaterRow {
    std::int32_t row;
    RowState state;
  };

  /// Counts the columns of a range, and returns the later rows with entries in it.
  std::vector<LaterRow> count(const ClosedRange& range) {
    std::vector<LaterRow> later = rows_after(range);
    const auto state_of = [&](std::int32_t i) -> RowState& {
      if (i < range.end) return rows_[i];
      return std::lower_bound(later.begin(), later.end(), i,
                              [](const LaterRow& row, std::int32_t index) { return row.row < index; })
          ->state;
    };
    for (std::int32_t j = range.begin; j < range.end; ++j) {
      count_leaves(j, range.end, state_of);
      close(j);
    }
    for (std::int32_t j = range.begin; j < range.end; ++j) {
      if (parent_[j] >= 0) add_to(parent_[j], delta_[j], range.end);
    }
    return later;
  }

  [[nodiscard]] std::vector<LaterRow> rows_after(const ClosedRange& range) const {
    std::vector<std::int32_t> rows;
    for (std::int32_t j = range.begin; j < range.end; ++j) {
      for (const std::int32_t i : a_.row(postorder_[j])) {
        if (rank_[i] >= range.end) rows.push_back(rank_[i]);
      }
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    std::vector<LaterRow> later;
    later.reserve(rows.size());
    for (const std::int32_t row : rows) later.push_back({row, {}});
    return later;
  }

  /// Counts column j, of a range that ends with `end`, as a leaf of the rows of its entries, and as a column
  /// of L.
  template <class StateOf>
  void count_leaves(std::int32_t j, std::int32_t end, const StateOf& state_of) {
    // A leaf of the tree is a leaf of its own row subtree; j is no row of its parent's column.
    if (first_descendant_[j] == j) ++delta_[j];
    if (parent_[j] >= 0) add_to(parent_[j], -1, end);
    for (const std::int32_t column : a_.row(postorder_[j])) {
      const std::int32_t i = rank_[column];
      if (i <= j) continue;
      RowState& row = state_of(i);
      if (first_descendant_[j] <= row.largest_first) continue;
      ++delta_[j];
      if (row.last_leaf >= 0) add_to(representative(row.last_leaf), -1, end);  // where the branches meet
      row = {first_descendant_[j], j};
    }
  }

  void close(std::int32_t j) {
    if (parent_[j] >= 0) ancestor_[j] = parent_[j];
  }

  /// Adds the leaves of a range to those of the rows after it.
  void pass_on(const std::vector<LaterRow>& later) {
    for (const auto& [row, state] : later) {
      if (rows_[row].last_leaf >= 0) --delta_[representative(rows_[row].last_leaf)];
      rows_[row] = state;
    }
  }

  /// Adds to the count of column j. The addition is atomic for columns after the range, which several ranges
  /// share; `end` is the end of the range.
  void add_to(std::int32_t j, std::int32_t count, std::int32_t end) {
    if (j < end) {
      delta_[j] += count;
    } else {
      std::atomic_ref(delta_[j]).fetch_add(count, std::memory_order_relaxed);
    }
  }

  /// Root of the completed part of the tree that holds j, with path compression.
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

  const Pattern& a_;
  std::span<const std::int32_t> postorder_;
  int threads_;
  std::vector<std::int32_t> rank_;  // in the postorder
  std::vector<std::int32_t> parent_;
  std::vector<std::int32_t> first_descendant_;
  std::vector<std::int32_t> delta_;
  std::vector<RowState> rows_;
  std::vector<std::int32_t> ancestor_;
};

}  // namespace

std::vector<std::int32_t> elimination_tree(const Pattern& a, int threads) {
  std::vector<std::int32_t> parent(static_cast<std::size_t>(a.n), -1);
  std::vector<std::int32_t> ancestor(static_cast<std::size_t>(a.n), -1);
  const ForestPartition parts = partition(closed_range_begins(a, threads), threads);
  for_each_task(std::ssize(parts.ranges), threads, [&](std::int64_t r) {
    for (std::int32_t k = parts.ranges[r].begin; k < parts.ranges[r].end; ++k)
      add_row(a, k, ancestor, parent);
  });
  for (const std::int32_t k : parts.top) add_row(a, k, ancestor, parent);
  return parent;
}

std::vector<std::int32_t> column_counts(const Pattern& a, std::span<const std::int32_t> parent,
                                        std::span<const std::int32_t> postorder, int threads) {
  return LeafCounter(a, parent, postorder, threads).run();
}

EliminationForest elimination_forest(const Pattern& a, std::span<const std::int32_t> permutation,
                                     int threads) {
  const PatternStorage permuted = permuted_pattern(a, permutation, threads);
  const std::vector<std::int32_t> parent = elimination_tree(permuted.view(), threads);
  const std::vector<std::int32_t> order = postorder(parent);
  const std::vector<std::int32_t> counts = column_counts(permuted.view(), parent, order, threads);

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

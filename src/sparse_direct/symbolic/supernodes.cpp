// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/symbolic/supernodes.hpp"

#include "sparse_direct/pattern/chunks.hpp"
#include "sparse_direct/symbolic/closed_ranges.hpp"
#include "sparse_direct/symbolic/tree.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Entries of the first `pivots` columns of a dense lower triangle of order `front_size`.
std::int64_t trapezoid(std::int64_t pivots, std::int64_t front_size) {
  return pivots * front_size - pivots * (pivots - 1) / 2;
}

std::int64_t total_entries(const SupernodeForest& forest) {
  std::int64_t entries = 0;
  for (std::int64_t s = 0; s < forest.size(); ++s)
    entries += trapezoid(forest.pivots(s), forest.front_size[s]);
  return entries;
}

/// Supernodes in the process of merging children into their parents.
class Amalgamation {
 public:
  Amalgamation(const SupernodeForest& forest, const AmalgamationLimits& limits)
      : forest_(forest),
        limits_(limits),
        front_size_(forest.front_size.begin(), forest.front_size.end()),
        zeros_(forest.parent.size(), 0),
        merged_into_(forest.parent.size(), -1) {
    pivots_.reserve(forest.parent.size());
    for (std::int64_t s = 0; s < forest.size(); ++s) pivots_.push_back(forest.pivots(s));
  }

  void run(int threads) {
    const std::vector<std::int32_t> first = first_descendants(forest_.parent);
    const ForestPartition parts = partition(first, threads);
    for_each_task(std::ssize(parts.ranges), threads, [&](std::int64_t r) {
      std::vector<std::int32_t> children;
      for (std::int32_t s = parts.ranges[r].begin; s < parts.ranges[r].end; ++s)
        merge_children(s, first, children);
    });
    std::vector<std::int32_t> children;
    for (const std::int32_t s : parts.top) merge_children(s, first, children);
  }

  [[nodiscard]] SupernodeForest result() const;

 private:
  /// Zeros stored when the columns of `child` get the rows of `s`.
  [[nodiscard]] std::int64_t added_zeros(std::int32_t child, std::int32_t s) const {
    return pivots_[child] * (pivots_[child] + front_size_[s] - front_size_[child]);
  }

  /// Merges children of s into it. Those that add the fewest zeros come first: each merger lengthens the
  /// columns of the later ones. `children` is scratch memory.
  void merge_children(std::int32_t s, std::span<const std::int32_t> first,
                      std::vector<std::int32_t>& children) {
    children.clear();
    // The subtree of each child ends where that of the next one begins.
    for (std::int32_t child = s - 1; child >= first[s]; child = first[child] - 1) children.push_back(child);
    std::sort(children.begin(), children.end(), [&](std::int32_t a, std::int32_t b) {
      const std::int64_t zeros_a = added_zeros(a, s);
      const std::int64_t zeros_b = added_zeros(b, s);
      return zeros_a != zeros_b ? zeros_a < zeros_b : a < b;
    });
    for (const std::int32_t child : children) merge_if_cheap(child, s);
  }

  void merge_if_cheap(std::int32_t child, std::int32_t s) {
    const std::int64_t added = added_zeros(child, s);
    const std::int64_t zeros = zeros_[child] + zeros_[s] + added;
    const std::int64_t pivots = pivots_[child] + pivots_[s];
    const std::int64_t front_size = pivots_[child] + front_size_[s];
    const bool is_small = front_size <= limits_.front;
    if (added > 0 && !is_small && !is_cheap(pivots, zeros, trapezoid(pivots, front_size))) return;
    merged_into_[child] = s;
    zeros_[s] = zeros;
    pivots_[s] = pivots;
    front_size_[s] = front_size;
  }

  [[nodiscard]] bool is_cheap(std::int64_t columns, std::int64_t zeros, std::int64_t entries) const {
    if (columns <= limits_.columns[0]) return true;
    const double fraction = static_cast<double>(zeros) / static_cast<double>(entries);
    if (columns <= limits_.columns[1]) return fraction < limits_.zeros[1];
    if (columns <= limits_.columns[2]) return fraction < limits_.zeros[2];
    return fraction < limits_.zeros[3];
  }

  const SupernodeForest& forest_;
  AmalgamationLimits limits_;
  std::vector<std::int64_t> pivots_;
  std::vector<std::int64_t> front_size_;
  std::vector<std::int64_t> zeros_;
  std::vector<std::int32_t> merged_into_;
};

SupernodeForest Amalgamation::result() const {
  const auto old_size = static_cast<std::int32_t>(forest_.size());
  std::vector<std::int32_t> target(merged_into_.size());  // the supernode that each is part of, old numbers
  for (std::int32_t s = old_size; s-- > 0;) target[s] = merged_into_[s] < 0 ? s : target[merged_into_[s]];

  SupernodeForest merged;
  std::vector<std::int32_t> number(merged_into_.size(), -1);
  merged.begin.push_back(0);
  for (std::int32_t s = 0; s < old_size; ++s) {
    if (target[s] != s) continue;
    number[s] = static_cast<std::int32_t>(merged.front_size.size());
    merged.front_size.push_back(static_cast<std::int32_t>(front_size_[s]));
    merged.begin.push_back(merged.begin.back() + static_cast<std::int32_t>(pivots_[s]));
  }
  merged.parent.resize(merged.front_size.size());
  merged.columns.resize(forest_.columns.size());
  std::vector<std::int32_t> next(merged.begin.begin(), merged.begin.end());
  for (std::int32_t s = 0; s < old_size; ++s) {
    if (target[s] == s)
      merged.parent[number[s]] = forest_.parent[s] < 0 ? -1 : number[target[forest_.parent[s]]];
    for (std::int32_t k = forest_.begin[s]; k < forest_.begin[s + 1]; ++k) {
      merged.columns[next[number[target[s]]]++] = forest_.columns[k];
    }
  }
  merged.stored_entries = total_entries(merged);
  return merged;
}

}  // namespace

SupernodeForest fundamental_supernodes(std::span<const std::int32_t> parent,
                                       std::span<const std::int32_t> counts) {
  const auto n = static_cast<std::int32_t>(parent.size());
  std::vector<std::int32_t> children(parent.size(), 0);
  for (const std::int32_t p : parent) {
    if (p >= 0) ++children[p];
  }
  SupernodeForest forest;
  std::vector<std::int32_t> supernode_of(parent.size());
  for (std::int32_t j = 0; j < n; ++j) {
    const bool continues = j > 0 && parent[j - 1] == j && children[j] == 1 && counts[j - 1] == counts[j] + 1;
    if (!continues) {
      forest.begin.push_back(j);
      forest.front_size.push_back(counts[j]);
    }
    supernode_of[j] = static_cast<std::int32_t>(forest.begin.size()) - 1;
  }
  forest.begin.push_back(n);
  forest.parent.resize(forest.front_size.size());
  for (std::int64_t s = 0; s < forest.size(); ++s) {
    const std::int32_t p = parent[forest.begin[s + 1] - 1];
    forest.parent[s] = p < 0 ? -1 : supernode_of[p];
  }
  forest.columns.resize(parent.size());
  std::iota(forest.columns.begin(), forest.columns.end(), 0);
  forest.stored_entries = total_entries(forest);
  return forest;
}

SupernodeForest amalgamated(const SupernodeForest& forest, const AmalgamationLimits& limits, int threads) {
  Amalgamation amalgamation(forest, limits);
  amalgamation.run(threads);
  return amalgamation.result();
}

StackOrder smallest_stack_order(const SupernodeForest& forest) {
  Children children(forest.parent);
  std::vector<double> peak(forest.parent.size());  // of the subtree; sizes may exceed 64 bits
  const auto update_entries = [&](std::int32_t s) {
    return static_cast<double>(forest.update_size(s)) * static_cast<double>(forest.update_size(s));
  };
  double largest = 0;
  for (std::int32_t s = 0; s < forest.size(); ++s) {
    const auto below = children.of(s);
    std::stable_sort(below.begin(), below.end(), [&](std::int32_t a, std::int32_t b) {
      return peak[a] - update_entries(a) > peak[b] - update_entries(b);
    });
    double waiting = 0;
    peak[s] = update_entries(s);
    for (const std::int32_t child : below) {
      peak[s] = std::max(peak[s], waiting + peak[child]);
      waiting += update_entries(child);
    }
    peak[s] = std::max(peak[s], waiting);
    largest = std::max(largest, peak[s]);
  }
  constexpr double most = 9e18;
  return {postorder(forest.parent, children), static_cast<std::int64_t>(std::min(largest, most))};
}

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/fronts/collecting_fronts.hpp"

#include "sparse_direct/symbolic/tree.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Elements of update matrices, about 1 MB, below which their memory does not matter.
constexpr double worth_collecting = 1 << 17;
/// Least ratio of the update matrices that a collecting front adds to its own, which has to be cleared and
/// added to the parent.
constexpr double fewest_updates = 4;
/// Most collecting fronts of one parent: enough for some dozens of threads.
constexpr double most_groups = 64;

/// Children of a parent that follow each other.
struct Run {
  std::vector<std::int32_t> children;
  double update_entries = 0;
  double factor_entries = 0;  ///< of their subtrees
};

class Insertion {
 public:
  Insertion(const SymbolicFactor& tree,
            const std::function<std::int64_t(std::int64_t, std::int64_t)>& panel_entries)
      : tree_(tree),
        factor_entries_(tree.parent.size(), 0),
        group_of_(tree.parent.size(), -1),
        last_seen_(static_cast<std::size_t>(tree.n), -1) {
    for (std::int32_t s = 0; s < tree.supernodes(); ++s) {
      const std::int64_t rows = std::ssize(tree.rows_of(s));
      factor_entries_[s] += static_cast<double>(panel_entries(tree.pivots(s), rows));
      if (tree.parent[s] >= 0) factor_entries_[tree.parent[s]] += factor_entries_[s];
      all_update_entries_ += update_entries(s);
    }
  }

  /// Groups children whose update matrices have at least half as many entries as the factors of their
  /// subtrees; false if there are none.
  bool find_groups() {
    if (all_update_entries_ < worth_collecting) return false;
    const Children children(tree_.parent);
    for (std::int32_t s = 0; s < tree_.supernodes(); ++s) {
      Run run;
      for (const std::int32_t child : children.of(s)) {
        if (2 * update_entries(child) < factor_entries_[child]) {
          divide(std::exchange(run, {}));
          continue;
        }
        run.children.push_back(child);
        run.update_entries += update_entries(child);
        run.factor_entries += factor_entries_[child];
      }
      divide(run);
    }
    return groups_ > 0;
  }

  [[nodiscard]] SymbolicFactor result() const;

 private:
  [[nodiscard]] double update_entries(std::int32_t s) const {
    const auto rows = static_cast<double>(tree_.rows_of(s).size());
    return rows * rows;
  }

  /// Divides a run into groups with update matrices of about the same total size. The update matrices of the
  /// groups, which wait for the parent, may have half as many entries as the factors.
  void divide(const Run& run) {
    if (run.update_entries < worth_collecting) return;
    const double rows = count_rows(run.children);
    const double own = rows * rows;  // entries of the update matrix of a group
    if (run.update_entries < fewest_updates * own) return;
    const double count = std::floor(std::min({most_groups, run.update_entries / (fewest_updates * own),
                                              std::max(run.factor_entries / (2 * own), 1.0)}));
    double sum = 0;
    std::int32_t part = 0;
    for (const std::int32_t child : run.children) {
      while (sum >= run.update_entries * (part + 1) / count) ++part;
      group_of_[child] = groups_ + part;
      sum += update_entries(child);
    }
    groups_ += part + 1;
  }

  /// Number of rows that children have together.
  double count_rows(std::span<const std::int32_t> children) {
    std::int64_t count = 0;
    for (const std::int32_t child : children) {
      for (const std::int32_t row : tree_.rows_of(child)) {
        count += last_seen_[row] == children.front() ? 0 : 1;
        last_seen_[row] = children.front();
      }
    }
    return static_cast<double>(count);
  }

  const SymbolicFactor& tree_;
  std::vector<double> factor_entries_;  // of subtrees
  double all_update_entries_ = 0;
  std::vector<std::int32_t> group_of_;  // of each supernode, or -1; those of siblings ascend
  std::int32_t groups_ = 0;
  std::vector<std::int32_t> last_seen_;
};

SymbolicFactor Insertion::result() const {
  SymbolicFactor tree = tree_;
  std::vector<std::int32_t> last_child(static_cast<std::size_t>(groups_), -1);
  for (std::int32_t s = 0; s < tree.supernodes(); ++s) {
    if (group_of_[s] >= 0) last_child[group_of_[s]] = s;
  }
  std::vector<std::vector<std::int32_t>> rows_of_group(static_cast<std::size_t>(groups_));
  std::vector<std::int32_t> number(tree.parent.size());
  std::vector<std::int32_t> number_of_group(static_cast<std::size_t>(groups_));
  std::vector<std::int32_t> supernode_begin = {0};
  std::vector<std::int32_t> parent;  // old numbers; -2 - g for group g
  std::vector<std::int64_t> row_begin = {0};
  std::vector<std::int32_t> rows;
  rows.reserve(tree.rows.size());
  const auto append = [&](std::int32_t end, std::int32_t p, std::span<const std::int32_t> own) {
    supernode_begin.push_back(end);
    parent.push_back(p);
    rows.insert(rows.end(), own.begin(), own.end());
    row_begin.push_back(std::ssize(rows));
    return static_cast<std::int32_t>(parent.size()) - 1;
  };
  for (std::int32_t s = 0; s < tree.supernodes(); ++s) {
    const std::int32_t end = tree.supernode_begin[s + 1];
    const std::int32_t g = group_of_[s];
    number[s] = append(end, g < 0 ? tree.parent[s] : -2 - g, tree.rows_of(s));
    if (g < 0) continue;
    const auto own = tree.rows_of(s);
    std::vector<std::int32_t>& all = rows_of_group[g];
    if (!std::ranges::equal(own, all)) {
      std::vector<std::int32_t> sum;
      std::set_union(all.begin(), all.end(), own.begin(), own.end(), std::back_inserter(sum));
      all = std::move(sum);
    }
    if (s == last_child[g]) number_of_group[g] = append(end, tree.parent[s], all);
  }
  for (std::int32_t& p : parent) {
    if (p != -1) p = p < 0 ? number_of_group[-2 - p] : number[p];
  }
  tree.supernode_begin = std::move(supernode_begin);
  tree.parent = std::move(parent);
  tree.row_begin = std::move(row_begin);
  rows.shrink_to_fit();
  tree.rows = std::move(rows);
  return tree;
}

}  // namespace

SymbolicFactor with_collecting_fronts(
    SymbolicFactor tree, const std::function<std::int64_t(std::int64_t, std::int64_t)>& panel_entries) {
  Insertion insertion(tree, panel_entries);
  if (!insertion.find_groups()) return tree;
  return insertion.result();
}

}  // namespace echelon::sparse_direct

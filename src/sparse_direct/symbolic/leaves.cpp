// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/symbolic/leaves.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Fewest rows of a merged supernode: elimination and assembly of smaller fronts take little time.
constexpr std::int64_t fewest_rows = 16;

/// Entries of L in a supernode with these pivots and rows below them.
std::int64_t entries_of(std::int64_t pivots, std::int64_t rows) {
  return pivots * rows + pivots * (pivots + 1) / 2;
}

class LeafMerger {
 public:
  LeafMerger(const AmalgamationLimits& limits, SymbolicFactor& factor) : limits_(limits), factor_(factor) {
    has_children_.assign(factor.parent.size(), false);
    for (const std::int32_t p : factor.parent) {
      if (p >= 0) has_children_[static_cast<std::size_t>(p)] = true;
    }
  }

  void run() {
    if (!has_candidates()) return;
    number_.reserve(factor_.parent.size());
    rows_.reserve(factor_.rows.size());
    for (std::int32_t s = 0; s < factor_.supernodes(); ++s) {
      if (!join(s)) append(s);
      number_.push_back(static_cast<std::int32_t>(parent_.size()) - 1);
    }
    if (parent_.size() == factor_.parent.size()) return;
    rows_.shrink_to_fit();
    for (std::int32_t& p : parent_) p = p < 0 ? -1 : number_[static_cast<std::size_t>(p)];
    factor_.supernode_begin = std::move(supernode_begin_);
    factor_.parent = std::move(parent_);
    factor_.row_begin = std::move(row_begin_);
    factor_.rows = std::move(rows_);
    factor_.stored_entries += added_zeros_;
    factor_.stack_peak_entries = stack_peak(factor_);
  }

 private:
  [[nodiscard]] bool are_sibling_leaves(std::int32_t s, std::int32_t t) const {
    return factor_.parent[s] >= 0 && factor_.parent[s] == factor_.parent[t] &&
           !has_children_[static_cast<std::size_t>(s)] && !has_children_[static_cast<std::size_t>(t)];
  }
  [[nodiscard]] bool has_candidates() const {
    for (std::int32_t s = 1; s < factor_.supernodes(); ++s) {
      if (factor_.row_begin[s + 1] - factor_.row_begin[s - 1] >= fewest_rows && are_sibling_leaves(s - 1, s))
        return true;
    }
    return false;
  }

  /// Merges leaf s into the last merged supernode if that stores few zeros.
  bool join(std::int32_t s) {
    if (s == 0 || !are_sibling_leaves(s - 1, s)) return false;
    const std::int64_t pivots = supernode_begin_.back() - *(supernode_begin_.end() - 2) + factor_.pivots(s);
    const std::span<const std::int32_t> of_last =
        std::span(rows_).subspan(static_cast<std::size_t>(*(row_begin_.end() - 2)));
    const std::span<const std::int32_t> own = factor_.rows_of(s);
    const std::int64_t apart =
        entries_ + entries_of(factor_.pivots(s), std::ssize(own));  // of the supernodes to be merged
    const auto is_cheap = [&](std::int64_t rows) {
      const std::int64_t entries = entries_of(pivots, rows);
      const double fraction = pivots <= limits_.columns[2] ? limits_.zeros[2] : limits_.zeros[3];
      return rows >= fewest_rows &&
             static_cast<double>(entries - apart) < fraction * static_cast<double>(entries);
    };
    if (!is_cheap(std::max(std::ssize(of_last), std::ssize(own)))) return false;
    union_.clear();
    std::set_union(of_last.begin(), of_last.end(), own.begin(), own.end(), std::back_inserter(union_));
    if (!is_cheap(std::ssize(union_))) return false;
    added_zeros_ += entries_of(pivots, std::ssize(union_)) - apart - zeros_;
    zeros_ = entries_of(pivots, std::ssize(union_)) - apart;
    entries_ = apart;
    rows_.resize(rows_.size() - of_last.size());
    rows_.insert(rows_.end(), union_.begin(), union_.end());
    row_begin_.back() = std::ssize(rows_);
    supernode_begin_.back() = factor_.supernode_begin[static_cast<std::size_t>(s) + 1];
    return true;
  }

  void append(std::int32_t s) {
    const std::span<const std::int32_t> own = factor_.rows_of(s);
    parent_.push_back(factor_.parent[s]);
    supernode_begin_.push_back(factor_.supernode_begin[static_cast<std::size_t>(s) + 1]);
    rows_.insert(rows_.end(), own.begin(), own.end());
    row_begin_.push_back(std::ssize(rows_));
    entries_ = entries_of(factor_.pivots(s), std::ssize(own));
    zeros_ = 0;
  }

  /// SymbolicFactor::stack_peak_entries.
  static std::int64_t stack_peak(const SymbolicFactor& factor) {
    std::vector<double> of_children(factor.parent.size(), 0);  // sizes may exceed 64 bits
    double stack = 0;
    double peak = 0;
    for (std::int64_t s = 0; s < factor.supernodes(); ++s) {
      const auto rows = static_cast<double>(factor.rows_of(s).size());
      stack += rows * rows - of_children[static_cast<std::size_t>(s)];
      peak = std::max(peak, stack);
      if (factor.parent[s] >= 0) of_children[static_cast<std::size_t>(factor.parent[s])] += rows * rows;
    }
    constexpr double most = 9e18;
    return static_cast<std::int64_t>(std::min(peak, most));
  }

  const AmalgamationLimits& limits_;
  SymbolicFactor& factor_;
  std::vector<bool> has_children_;
  std::vector<std::int32_t> number_;  // of each old supernode in the arrays that follow
  std::vector<std::int32_t> supernode_begin_ = {0};
  std::vector<std::int32_t> parent_;  // old numbers
  std::vector<std::int64_t> row_begin_ = {0};
  std::vector<std::int32_t> rows_;
  std::vector<std::int32_t> union_;
  std::int64_t entries_ = 0;  // of the last supernode's parts before they were merged
  std::int64_t zeros_ = 0;    // that it stores in addition
  std::int64_t added_zeros_ = 0;
};

}  // namespace

void merge_leaves(const AmalgamationLimits& limits, SymbolicFactor& factor) {
  LeafMerger(limits, factor).run();
}

}  // namespace echelon::sparse_direct

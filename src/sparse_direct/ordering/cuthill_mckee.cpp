// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/ordering/cuthill_mckee.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace echelon::sparse_direct {

namespace {

std::int64_t degree(const Pattern& a, std::int64_t i) {
  return a.row_begin[i + 1] - a.row_begin[i];
}

/// Rows by ascending degree, and in their given order for equal degrees: a counting sort.
std::vector<std::int32_t> rows_by_degree(const Pattern& a) {
  std::vector<std::int64_t> begin(static_cast<std::size_t>(a.n) + 1, 0);
  for (std::int64_t i = 0; i < a.n; ++i) ++begin[std::min(degree(a, i), a.n - 1) + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::int32_t> rows(static_cast<std::size_t>(a.n));
  for (std::int64_t i = 0; i < a.n; ++i) {
    rows[begin[std::min(degree(a, i), a.n - 1)]++] = static_cast<std::int32_t>(i);
  }
  return rows;
}

/// A copy with the columns of every row by ascending degree: rows are visited by degree, and each is appended
/// to its neighbours.
PatternStorage neighbours_by_degree(const Pattern& a, const std::vector<std::int32_t>& by_degree) {
  PatternStorage sorted;
  sorted.row_begin.assign(a.row_begin.begin(), a.row_begin.end());
  sorted.columns.resize(a.columns.size());
  std::vector<std::int64_t> next(a.row_begin.begin(), a.row_begin.end());
  for (const std::int32_t row : by_degree) {
    for (const std::int32_t neighbour : a.row(row)) sorted.columns[next[neighbour]++] = row;
  }
  return sorted;
}

class CuthillMckee {
 public:
  explicit CuthillMckee(const Pattern& a) : a_(a), visit_(static_cast<std::size_t>(a.n), 0) {
    order_.reserve(static_cast<std::size_t>(a.n));
  }

  [[nodiscard]] bool is_numbered(std::int32_t row) const { return visit_[row] == numbered; }

  /// Numbers the component of `row`, which has the smallest degree in it.
  void number_component(std::int32_t row) {
    const std::size_t begin = order_.size();
    LevelStructure levels = search(row, begin);
    // More searches than these seldom find a longer path, and the time has to stay linear.
    for (int repetition = 0; repetition < 5; ++repetition) {
      const std::int32_t farthest = row_of_smallest_degree(levels.last_level);
      const LevelStructure from_farthest = search(farthest, begin);
      if (from_farthest.depth <= levels.depth) break;
      levels = from_farthest;
    }
    for (std::size_t k = begin; k < order_.size(); ++k) visit_[order_[k]] = numbered;
  }

  std::vector<std::int32_t> reversed() {
    std::reverse(order_.begin(), order_.end());
    return std::move(order_);
  }

 private:
  static constexpr std::int64_t numbered = -1;
  struct LevelStructure {
    std::int64_t depth = 0;
    std::size_t last_level = 0;  // position in order_ where the last level begins
  };

  /// Lists the component of `row` from order_[begin] on, breadth first.
  LevelStructure search(std::int32_t row, std::size_t begin) {
    ++search_;
    order_.resize(begin);
    LevelStructure levels;
    visit(row);
    std::size_t level_end = begin;
    for (std::size_t head = begin; head < order_.size(); ++head) {
      if (head == level_end) {
        levels.last_level = head;
        level_end = order_.size();
        ++levels.depth;
      }
      for (const std::int32_t neighbour : a_.row(order_[head])) {
        if (visit_[neighbour] != search_) visit(neighbour);
      }
    }
    return levels;
  }

  void visit(std::int32_t row) {
    visit_[row] = search_;
    order_.push_back(row);
  }

  [[nodiscard]] std::int32_t row_of_smallest_degree(std::size_t begin) const {
    return *std::min_element(
        order_.begin() + static_cast<std::ptrdiff_t>(begin), order_.end(),
        [this](std::int32_t x, std::int32_t y) { return degree(a_, x) < degree(a_, y); });
  }

  Pattern a_;
  std::vector<std::int64_t> visit_;  // number of the last search that reached a row
  std::vector<std::int32_t> order_;
  std::int64_t search_ = 0;
};

}  // namespace

std::vector<std::int32_t> reverse_cuthill_mckee(const Pattern& a) {
  const std::vector<std::int32_t> by_degree = rows_by_degree(a);
  const PatternStorage sorted = neighbours_by_degree(a, by_degree);
  CuthillMckee numbering({a.n, sorted.row_begin, sorted.columns});
  for (const std::int32_t row : by_degree) {
    if (!numbering.is_numbered(row)) numbering.number_component(row);
  }
  return numbering.reversed();
}

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon {

/// Maximum matching of rows and columns in the bipartite graph of the nonzeros. J. Hopcroft, R. Karp, An
/// n^(5/2) algorithm for maximum matchings in bipartite graphs, SIAM J. Comput. 2 (1973).
template <class Rows>
class MaximumMatching {
 public:
  static constexpr std::int64_t none = -1;

  /// Starts from a matching that gives each column a row, or none; an empty list stands for the empty
  /// matching.
  MaximumMatching(const Rows& a, std::int64_t rows, std::int64_t columns,
                  std::vector<std::int64_t> row_of_column = {})
      : a_(a), rows_(rows), row_of_(std::move(row_of_column)), level_(index(rows)), next_(index(rows)) {
    row_of_.resize(index(columns), none);
    match_greedily(columns);
    while (find_levels()) std::erase_if(free_, [this](std::int64_t row) { return augment(row); });
  }

  /// Number of matched rows.
  [[nodiscard]] std::int64_t size() const { return rows_ - static_cast<std::int64_t>(free_.size()); }
  /// Row matched to each column, or none.
  [[nodiscard]] const std::vector<std::int64_t>& row_of_column() const { return row_of_; }
  /// Rows that are not matched, ascending.
  [[nodiscard]] const std::vector<std::int64_t>& free_rows() const { return free_; }

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] bool is_zero(std::int64_t row, std::int64_t k) const { return a_.value(row, k) == 0; }
  std::int64_t& row_of(std::int64_t k) { return row_of_[index(a_.column(k))]; }

  /// Greedy matching of the rows that have no column: the diagonal, which often is maximal, then every row's
  /// first free column.
  void match_greedily(std::int64_t columns) {
    std::vector<bool> matched(index(rows_), false);
    for (const std::int64_t row : row_of_) {
      if (row != none) matched[index(row)] = true;
    }
    for (std::int64_t i = 0; i < std::min(rows_, columns); ++i) {
      if (matched[index(i)] || row_of_[index(i)] != none || a_.at(i, i) == 0) continue;
      row_of_[index(i)] = i;
      matched[index(i)] = true;
    }
    for (std::int64_t row = 0; row < rows_; ++row) {
      if (matched[index(row)]) continue;
      std::int64_t k = a_.begin(row);
      while (k < a_.end(row) && (is_zero(row, k) || row_of(k) != none)) ++k;
      if (k < a_.end(row)) {
        row_of(k) = row;
      } else {
        free_.push_back(row);
      }
    }
  }

  void reach(std::int64_t row, std::int64_t level) {
    level_[index(row)] = level;
    next_[index(row)] = a_.begin(row);
    queue_.push_back(row);
  }

  /// Breadth-first from the free rows: a row's level is the number of matched columns on the shortest
  /// alternating path to it. Ends with the level at which the first free column is met, if any is.
  bool find_levels() {
    std::fill(level_.begin(), level_.end(), none);
    queue_.clear();
    for (const std::int64_t row : free_) reach(row, 0);
    std::int64_t last_level = rows_;
    // The loop appends to the queue.
    for (std::size_t head = 0; head < queue_.size(); ++head) {  // NOLINT(modernize-loop-convert)
      const std::int64_t row = queue_[head];
      const std::int64_t level = level_[index(row)];
      if (level > last_level) break;
      for (std::int64_t k = a_.begin(row); k < a_.end(row); ++k) {
        if (is_zero(row, k)) continue;
        if (row_of(k) == none) {
          last_level = level;
        } else if (level_[index(row_of(k))] == none) {
          reach(row_of(k), level + 1);
        }
      }
    }
    return last_level < rows_;
  }

  /// Depth-first along rising levels from a free row to a free column; matches along the path it finds.
  /// The search in a row resumes where the last visit stopped, so that a phase costs O(nonzeros).
  bool augment(std::int64_t free_row) {
    path_.assign(1, free_row);
    while (!path_.empty()) {
      const std::int64_t row = path_.back();
      std::int64_t& k = next_[index(row)];
      while (k < a_.end(row) && (is_zero(row, k) || !leads_on(row, k))) ++k;
      if (k == a_.end(row)) {
        path_.pop_back();
        if (!path_.empty()) ++next_[index(path_.back())];
      } else if (row_of(k) == none) {
        for (const std::int64_t r : path_) row_of(next_[index(r)]) = r;
        return true;
      } else {
        path_.push_back(row_of(k));
      }
    }
    return false;
  }
  bool leads_on(std::int64_t row, std::int64_t k) {
    return row_of(k) == none || level_[index(row_of(k))] == level_[index(row)] + 1;
  }

  Rows a_;
  std::int64_t rows_;
  std::vector<std::int64_t> row_of_;  // a column's matched row
  std::vector<std::int64_t> free_;    // rows not matched
  std::vector<std::int64_t> level_;
  std::vector<std::int64_t> next_;  // a row's position up to which a phase has searched
  std::vector<std::int64_t> queue_;
  std::vector<std::int64_t> path_;
};

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/host_copy.hpp"
#include "matrix/rows.hpp"

#include <echelon/structure.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace echelon {

namespace {

/// Maximum matching of rows and columns in the bipartite graph of the nonzeros. J. Hopcroft, R. Karp, An
/// n^(5/2) algorithm for maximum matchings in bipartite graphs, SIAM J. Comput. 2 (1973).
template <class Rows>
class Matching {
 public:
  Matching(const Rows& a, std::int64_t rows, std::int64_t columns)
      : a_(a), rows_(rows), row_of_(index(columns), none), level_(index(rows)), next_(index(rows)) {
    match_greedily(columns);
  }

  /// Size of a maximum matching.
  std::int64_t maximum() {
    while (find_levels()) std::erase_if(free_, [this](std::int64_t row) { return augment(row); });
    return rows_ - static_cast<std::int64_t>(free_.size());
  }

 private:
  static constexpr std::int64_t none = -1;
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] bool is_zero(std::int64_t row, std::int64_t k) const { return a_.value(row, k) == 0; }
  std::int64_t& row_of(std::int64_t k) { return row_of_[index(a_.column(k))]; }

  /// Greedy initial matching: the diagonal, which often is maximal, then every row's first free column.
  void match_greedily(std::int64_t columns) {
    for (std::int64_t i = 0; i < std::min(rows_, columns); ++i) {
      if (a_.at(i, i) != 0) row_of_[index(i)] = i;
    }
    for (std::int64_t row = 0; row < rows_; ++row) {
      if (row < columns && row_of_[index(row)] == row) continue;
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

}  // namespace

template <class T>
std::int64_t structural_rank(MatrixRef<T> A) {
  const HostCopy<T> host(A);
  return with_rows(host.matrix(),
                   [&](const auto& rows) { return Matching(rows, A.rows(), A.columns()).maximum(); });
}

template std::int64_t structural_rank(MatrixRef<float>);
template std::int64_t structural_rank(MatrixRef<double>);

}  // namespace echelon

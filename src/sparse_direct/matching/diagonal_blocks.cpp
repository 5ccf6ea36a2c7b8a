// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/matching/diagonal_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Strongly connected components. Tarjan's algorithm without recursion.
class StrongComponents {
 public:
  StrongComponents(std::span<const std::int64_t> row_begin, std::span<const std::int32_t> column_indices,
                   std::span<const std::int32_t> row_of_column)
      : row_begin_(row_begin),
        column_indices_(column_indices),
        row_of_(row_of_column),
        visit_(row_of_column.size(), 0),
        low_(row_of_column.size()),
        next_(row_of_column.size()) {
    order_.reserve(row_of_column.size());
    for (std::int32_t column = 0; column < std::ssize(row_of_column); ++column) {
      if (visit_[column] == 0) search(column);
    }
  }

  /// Columns component by component; edges lead from a component to itself and to earlier ones.
  [[nodiscard]] const std::vector<std::int32_t>& columns() const { return order_; }
  /// Position past the end of each component.
  [[nodiscard]] const std::vector<std::int32_t>& ends() const { return ends_; }

 private:
  static constexpr std::int32_t finished = -1;

  void enter(std::int32_t column) {
    visit_[column] = low_[column] = ++visits_;
    next_[column] = row_begin_[row_of_[column]];
    path_.push_back(column);
    open_.push_back(column);
  }

  void search(std::int32_t root) {
    enter(root);
    while (!path_.empty()) {
      const std::int32_t column = path_.back();
      if (next_[column] < row_begin_[row_of_[column] + 1]) {
        const std::int32_t target = column_indices_[next_[column]++];
        if (visit_[target] == 0) {
          enter(target);
        } else if (visit_[target] != finished) {
          low_[column] = std::min(low_[column], visit_[target]);
        }
      } else {
        leave(column);
      }
    }
  }

  void leave(std::int32_t column) {
    path_.pop_back();
    if (low_[column] == visit_[column]) close_component(column);
    if (!path_.empty()) low_[path_.back()] = std::min(low_[path_.back()], low_[column]);
  }

  /// Moves the columns from `root` on, which form a component, out of the open ones.
  void close_component(std::int32_t root) {
    std::int32_t column = -1;
    while (column != root) {
      column = open_.back();
      open_.pop_back();
      visit_[column] = finished;
      low_[column] = visits_;  // no minimum for the column before it
      order_.push_back(column);
    }
    ends_.push_back(static_cast<std::int32_t>(order_.size()));
  }

  std::span<const std::int64_t> row_begin_;
  std::span<const std::int32_t> column_indices_;
  std::span<const std::int32_t> row_of_;
  std::vector<std::int32_t> visit_;  // number of the visit from 1, 0 before it, -1 once in a component
  std::vector<std::int32_t> low_;    // least visit reachable by one edge out of the subtree
  std::vector<std::int64_t> next_;   // next edge of each column
  std::vector<std::int32_t> path_;
  std::vector<std::int32_t> open_;  // visited columns without a component
  std::vector<std::int32_t> order_;
  std::vector<std::int32_t> ends_;
  std::int32_t visits_ = 0;
};

}  // namespace

DiagonalBlocks diagonal_blocks(std::span<const std::int64_t> row_begin,
                               std::span<const std::int32_t> column_indices,
                               std::span<const std::int32_t> row_of_column) {
  const StrongComponents components(row_begin, column_indices, row_of_column);
  // Edges lead to earlier components, so that the last one comes first.
  const auto count = static_cast<std::int32_t>(components.ends().size());
  const auto n = static_cast<std::int32_t>(row_of_column.size());
  DiagonalBlocks blocks;
  blocks.block_begin.reserve(components.ends().size() + 1);
  for (std::int32_t b = count; b-- > 0;) blocks.block_begin.push_back(n - components.ends()[b]);
  blocks.block_begin.push_back(n);
  std::vector<std::int32_t> block_of(row_of_column.size());
  for (std::int32_t b = 0, k = 0; b < count; ++b) {
    for (; k < components.ends()[b]; ++k) block_of[components.columns()[k]] = count - 1 - b;
  }
  std::vector<std::int32_t> next(blocks.block_begin.begin(), blocks.block_begin.end() - 1);
  blocks.columns.resize(row_of_column.size());
  for (std::int32_t column = 0; column < n; ++column) blocks.columns[next[block_of[column]]++] = column;
  return blocks;
}

}  // namespace echelon::sparse_direct

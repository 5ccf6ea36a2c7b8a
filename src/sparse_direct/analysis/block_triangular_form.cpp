// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/host_copy.hpp"
#include "matrix/matching/maximum_matching.hpp"

#include <echelon/error.hpp>
#include <echelon/sparse_direct.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace echelon {

namespace {

/// The pattern of a matrix: all stored elements are 1.
struct PatternRows {
  using Value = int;
  std::span<const std::int64_t> row_offsets;
  std::span<const std::int32_t> column_indices;

  [[nodiscard]] std::int64_t begin(std::int64_t i) const { return row_offsets[i]; }
  [[nodiscard]] std::int64_t end(std::int64_t i) const { return row_offsets[i + 1]; }
  [[nodiscard]] std::int64_t column(std::int64_t k) const { return column_indices[k]; }
  [[nodiscard]] int value(std::int64_t, std::int64_t) const { return 1; }
  [[nodiscard]] int at(std::int64_t i, std::int64_t j) const {
    return std::binary_search(column_indices.begin() + begin(i), column_indices.begin() + end(i),
                              static_cast<std::int32_t>(j))
               ? 1
               : 0;
  }
};

/// Strongly connected components of the graph with an edge from column j to each column in which the row
/// matched to j has an entry. Tarjan's algorithm without recursion.
class Components {
 public:
  Components(const PatternRows& rows, std::span<const std::int32_t> row_of_column)
      : rows_(rows),
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
  /// Position behind each component.
  [[nodiscard]] const std::vector<std::int32_t>& ends() const { return ends_; }

 private:
  static constexpr std::int32_t finished = -1;

  void enter(std::int32_t column) {
    visit_[column] = low_[column] = ++visits_;
    next_[column] = rows_.begin(row_of_[column]);
    path_.push_back(column);
    open_.push_back(column);
  }

  void search(std::int32_t root) {
    enter(root);
    while (!path_.empty()) {
      const std::int32_t column = path_.back();
      if (next_[column] < rows_.end(row_of_[column])) {
        const std::int32_t target = rows_.column_indices[next_[column]++];
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

  PatternRows rows_;
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

/// A row for each column: the matched one, or one of the free rows.
std::vector<std::int32_t> complete_matching(const MaximumMatching<PatternRows>& matching) {
  std::vector<std::int32_t> row_of_column;
  row_of_column.reserve(matching.row_of_column().size());
  auto free_row = matching.free_rows().begin();
  for (const std::int64_t row : matching.row_of_column()) {
    row_of_column.push_back(static_cast<std::int32_t>(row < 0 ? *free_row++ : row));
  }
  return row_of_column;
}

BlockTriangularForm form_of(const PatternRows& rows, std::int64_t n) {
  const MaximumMatching matching(rows, n, n);
  const std::vector<std::int32_t> row_of_column = complete_matching(matching);
  const Components components(rows, row_of_column);
  BlockTriangularForm form;
  form.structural_rank = matching.size();
  // Edges lead to earlier components, so that the last one comes first.
  form.column_permutation.reserve(row_of_column.size());
  form.row_permutation.reserve(row_of_column.size());
  form.block_begin.push_back(0);
  std::int32_t end = static_cast<std::int32_t>(n);
  for (std::size_t b = components.ends().size(); b-- > 0;) {
    const std::int32_t begin = b == 0 ? 0 : components.ends()[b - 1];
    const auto first = components.columns().begin() + begin;
    form.column_permutation.insert(form.column_permutation.end(), first, first + (end - begin));
    std::sort(form.column_permutation.end() - (end - begin), form.column_permutation.end());
    form.block_begin.push_back(static_cast<std::int32_t>(form.column_permutation.size()));
    end = begin;
  }
  for (const std::int32_t column : form.column_permutation) {
    form.row_permutation.push_back(row_of_column[column]);
  }
  return form;
}

}  // namespace

std::int64_t BlockTriangularForm::largest_block() const {
  std::int64_t largest = 0;
  for (std::int64_t b = 0; b < blocks(); ++b) {
    largest = std::max<std::int64_t>(largest, block_begin[b + 1] - block_begin[b]);
  }
  return largest;
}

template <class T>
BlockTriangularForm block_triangular_form(const Csr<T>& A) {
  if (A.rows() != A.columns()) {
    throw DimensionMismatch(
        fmt::format("A is {} by {}; a block triangular form needs a square matrix", A.rows(), A.columns()));
  }
  const HostCopy<T> host{MatrixRef<T>(A)};
  const Csr<T>& a = *host.matrix().csr();
  return form_of({a.row_offsets().span(), a.column_indices().span()}, a.rows());
}

template BlockTriangularForm block_triangular_form(const Csr<float>&);
template BlockTriangularForm block_triangular_form(const Csr<double>&);

}  // namespace echelon

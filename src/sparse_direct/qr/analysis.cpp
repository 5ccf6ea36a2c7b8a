// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/qr/analysis.hpp"

#include "sparse_direct/ordering/column_ordering.hpp"
#include "sparse_direct/pattern/analysis_cancelled.hpp"
#include "sparse_direct/pattern/row_groups.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// The rows and columns that the singletons leave.
struct QrCore {
  std::vector<std::int32_t> rows;     // those with elements in the columns
  std::vector<std::int32_t> columns;  // those to be ordered last at the end
  std::int64_t ordered = 0;           // columns before them
  std::vector<std::int64_t> row_begin;
  std::vector<std::int32_t> indices;  // numbers of the columns here

  [[nodiscard]] RectangularPattern pattern() const {
    return {std::ssize(rows), std::ssize(columns), row_begin, indices};
  }
};

QrCore find_core(const RectangularPattern& a, const std::vector<ColumnSingleton>& singletons,
                 std::span<const std::int32_t> last) {
  std::vector<bool> is_taken(static_cast<std::size_t>(a.rows), false);
  std::vector<std::int32_t> number(static_cast<std::size_t>(a.columns), 0);
  for (const ColumnSingleton& singleton : singletons) {
    is_taken[singleton.row] = true;
    number[singleton.column] = -1;
  }
  for (const std::int32_t j : last) number[j] = -1;
  QrCore core;
  for (std::int32_t j = 0; j < a.columns; ++j) {
    if (number[j] >= 0) core.columns.push_back(j);
  }
  core.ordered = std::ssize(core.columns);
  core.columns.insert(core.columns.end(), last.begin(), last.end());
  for (std::size_t k = 0; k < core.columns.size(); ++k)
    number[core.columns[k]] = static_cast<std::int32_t>(k);
  core.row_begin.push_back(0);
  core.row_begin.reserve(static_cast<std::size_t>(a.rows) + 1);
  core.rows.reserve(static_cast<std::size_t>(a.rows));
  core.indices.reserve(a.indices.size());
  for (std::int32_t i = 0; i < a.rows; ++i) {
    if (is_taken[i] || a.row(i).empty()) continue;
    for (const std::int32_t j : a.row(i)) core.indices.push_back(number[j]);
    core.rows.push_back(i);
    core.row_begin.push_back(std::ssize(core.indices));
  }
  return core;
}

/// The columns of the core in the order of elimination.
std::vector<std::int32_t> order_columns(const QrCore& core) {
  if (core.ordered == std::ssize(core.columns)) return column_minimum_degree_ordering(core.pattern());
  std::vector<std::int64_t> row_begin = {0};
  std::vector<std::int32_t> indices;
  for (std::size_t i = 0; i < core.rows.size(); ++i) {
    for (std::int64_t k = core.row_begin[i]; k < core.row_begin[i + 1]; ++k) {
      if (core.indices[k] < core.ordered) indices.push_back(core.indices[k]);
    }
    row_begin.push_back(std::ssize(indices));
  }
  std::vector<std::int32_t> order =
      column_minimum_degree_ordering({std::ssize(core.rows), core.ordered, row_begin, indices});
  for (std::int64_t j = core.ordered; j < std::ssize(core.columns); ++j)
    order.push_back(static_cast<std::int32_t>(j));
  return order;
}

/// The rows of each of n groups, which `group` tells for each row, ascending.
RowGroups rows_of_groups(std::span<const std::int32_t> group, std::int64_t n) {
  RowGroups groups;
  groups.begin.assign(static_cast<std::size_t>(n) + 1, 0);
  for (const std::int32_t g : group) ++groups.begin[g + 1];
  std::partial_sum(groups.begin.begin(), groups.begin.end(), groups.begin.begin());
  std::vector<std::int32_t> next(groups.begin.begin(), groups.begin.end() - 1);
  groups.rows.resize(group.size());
  for (std::size_t i = 0; i < group.size(); ++i) groups.rows[next[group[i]]++] = static_cast<std::int32_t>(i);
  return groups;
}

/// The column of each row that comes first, by the positions of the columns.
std::vector<std::int32_t> first_columns(const RectangularPattern& a, std::span<const std::int32_t> position) {
  std::vector<std::int32_t> first(static_cast<std::size_t>(a.rows));
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const auto row = a.row(i);
    first[i] = *std::min_element(row.begin(), row.end(),
                                 [&](std::int32_t j, std::int32_t k) { return position[j] < position[k]; });
  }
  return first;
}

/// A pattern and its transpose, which have no element in common, as one.
PatternStorage with_transpose(std::int64_t n, std::span<const std::int64_t> begin,
                              std::span<const std::int32_t> columns) {
  PatternStorage result;
  result.row_begin.assign(static_cast<std::size_t>(n) + 1, 0);
  for (const std::int32_t j : columns) ++result.row_begin[j + 1];
  for (std::int64_t i = 0; i < n; ++i) result.row_begin[i + 1] += begin[i + 1] - begin[i];
  std::partial_sum(result.row_begin.begin(), result.row_begin.end(), result.row_begin.begin());
  result.columns.resize(2 * columns.size());
  std::vector<std::int64_t> next(result.row_begin.begin(), result.row_begin.end() - 1);
  for (std::int32_t i = 0; i < n; ++i) {
    for (std::int64_t k = begin[i]; k < begin[i + 1]; ++k) {
      result.columns[next[i]++] = columns[k];
      result.columns[next[columns[k]]++] = i;
    }
  }
  return result;
}

/// A pattern with the Cholesky factor of that of A^T A, for this order of columns: each row connects its
/// first column with its others.
PatternStorage star_pattern(const RectangularPattern& a, std::span<const std::int32_t> order) {
  const RowGroups rows = rows_of_groups(first_columns(a, inverse_permutation(order)), a.columns);
  std::vector<std::int64_t> begin = {0};
  std::vector<std::int32_t> others;
  others.reserve(a.indices.size());
  std::vector<std::int32_t> seen(static_cast<std::size_t>(a.columns), -1);
  for (std::int32_t j = 0; j < a.columns; ++j) {
    seen[j] = j;
    for (const std::int32_t row : rows.of(j)) {
      for (const std::int32_t other : a.row(row)) {
        if (std::exchange(seen[other], j) != j) others.push_back(other);
      }
    }
    begin.push_back(std::ssize(others));
  }
  return with_transpose(a.columns, begin, others);
}

/// The pattern of A^T A, or nothing where that has far more elements than A.
std::optional<PatternStorage> normal_pattern(const RectangularPattern& a) {
  constexpr double most_elements = 20;  // for each of A
  double products = 0;
  for (std::int64_t i = 0; i < a.rows; ++i) products += std::pow(static_cast<double>(a.row(i).size()), 2);
  if (products > most_elements * static_cast<double>(a.indices.size())) return std::nullopt;
  std::vector<std::int64_t> begin(static_cast<std::size_t>(a.columns) + 1, 0);
  for (const std::int32_t j : a.indices) ++begin[j + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::int64_t> next(begin.begin(), begin.end() - 1);
  std::vector<std::int32_t> rows(a.indices.size());
  for (std::int32_t i = 0; i < a.rows; ++i) {
    for (const std::int32_t j : a.row(i)) rows[next[j]++] = i;
  }
  PatternStorage result;
  result.row_begin.push_back(0);
  std::vector<std::int32_t> seen(static_cast<std::size_t>(a.columns), -1);
  for (std::int32_t j = 0; j < a.columns; ++j) {
    seen[j] = j;
    for (std::int64_t k = begin[j]; k < begin[j + 1]; ++k) {
      for (const std::int32_t other : a.row(rows[k])) {
        if (std::exchange(seen[other], j) != j) result.columns.push_back(other);
      }
    }
    result.row_begin.push_back(std::ssize(result.columns));
  }
  return result;
}

/// The fronts for an order of columns.
SymbolicFactor fronts_of(const QrCore& core, std::span<const std::int32_t> order,
                         const QrAnalysisOptions& options) {
  const PatternStorage pattern = star_pattern(core.pattern(), order);
  AnalysisOptions given;
  given.ordering.permutation = order;
  given.ordering.cancel = options.cancel;
  return analyze_symmetric(pattern.view(), given);
}

/// Replaces the fronts by those for an order of A^T A, where that may save its own time, and does.
void try_normal_ordering(const QrCore& core, const QrAnalysisOptions& options, SymbolicFactor& fronts) {
  constexpr double least_flops = 5e9;  // orderings of A^T A take a tenth of the time at most
  const auto n = std::ssize(core.columns);
  if (core.ordered < n || fronts.flops < least_flops) return;
  const std::optional<PatternStorage> normal = normal_pattern(core.pattern());
  if (!normal) return;
  const OrderedForest ordered = ordered_forest(normal->view(), {.cancel = options.cancel});
  if (ordered.forest.flops < fronts.flops) fronts = fronts_of(core, ordered.forest.permutation, options);
}

/// Assigns the rows to the fronts.
void assign_rows(const QrCore& core, QrAnalysis& analysis) {
  const SymbolicFactor& fronts = analysis.fronts;
  const std::vector<std::int32_t> position = inverse_permutation(fronts.permutation);
  std::vector<std::int32_t> pivots = first_columns(core.pattern(), position);
  for (std::int32_t& column : pivots) column = position[column];
  const RowGroups groups = rows_of_groups(pivots, fronts.n);
  for (const std::int32_t pivot : fronts.supernode_begin) analysis.rows_begin.push_back(groups.begin[pivot]);
  for (const std::int32_t row : groups.rows) {
    analysis.rows.push_back(core.rows[row]);
    analysis.first_pivots.push_back(pivots[row]);
  }
}

/// Predicts sizes and flops for columns of full rank: the row structure of each front.
class StaircaseCounts {
 public:
  explicit StaircaseCounts(QrAnalysis& analysis)
      : analysis_(analysis),
        place_(static_cast<std::size_t>(analysis.fronts.n)),
        waiting_(static_cast<std::size_t>(analysis.fronts.supernodes())) {}

  void run() {
    for (std::int64_t s = 0; s < analysis_.fronts.supernodes(); ++s) count(s);
  }

 private:
  void count(std::int64_t s) {
    const SymbolicFactor& fronts = analysis_.fronts;
    const std::int64_t pivots = fronts.pivots(s);
    const auto below = fronts.rows_of(s);
    const std::int64_t columns = pivots + std::ssize(below);
    beginning_.assign(static_cast<std::size_t>(columns), 0);
    for (std::int64_t k = 0; k < pivots; ++k) place_[fronts.supernode_begin[s] + k] = k;
    for (std::size_t k = 0; k < below.size(); ++k) place_[below[k]] = pivots + static_cast<std::int64_t>(k);
    for (std::int32_t i = analysis_.rows_begin[s]; i < analysis_.rows_begin[s + 1]; ++i)
      ++beginning_[place_[analysis_.first_pivots[i]]];
    for (const std::int32_t column : waiting_[s]) ++beginning_[place_[column]];
    waiting_[s] = {};
    std::int64_t rows = 0;
    std::int64_t eliminated = 0;
    for (std::int64_t k = 0; k < columns; ++k) {
      rows += beginning_[k];
      if (eliminated >= rows) continue;
      const std::int64_t length = rows - eliminated;
      analysis_.flops += 4.0 * static_cast<double>(length) * static_cast<double>(columns - k);
      analysis_.reflection_entries += length;
      ++eliminated;
      if (k >= pivots && fronts.parent[s] >= 0) waiting_[fronts.parent[s]].push_back(below[k - pivots]);
    }
    analysis_.factor_entries += pivots * columns;
    analysis_.front_rows += rows;
    analysis_.most_rows = std::max(analysis_.most_rows, rows);
    analysis_.most_columns = std::max(analysis_.most_columns, columns);
    analysis_.largest_front = std::max(analysis_.largest_front, rows * columns);
  }

  QrAnalysis& analysis_;
  std::vector<std::int64_t> place_;                 // of a column in the front
  std::vector<std::vector<std::int32_t>> waiting_;  // columns in which the rows from the children begin
  std::vector<std::int32_t> beginning_;             // rows that begin in each column of the front
};

}  // namespace

QrAnalysis analyze_qr(const RectangularPattern& a, std::vector<ColumnSingleton> singletons,
                      const QrAnalysisOptions& options) {
  QrAnalysis analysis;
  analysis.singletons = std::move(singletons);
  const QrCore core = find_core(a, analysis.singletons, options.last);
  test_for_stop(options.cancel);
  const std::vector<std::int32_t> order = order_columns(core);
  test_for_stop(options.cancel);
  if (!order.empty()) {
    analysis.fronts = fronts_of(core, order, options);
    try_normal_ordering(core, options, analysis.fronts);
  }
  for (const ColumnSingleton& singleton : analysis.singletons) analysis.order.push_back(singleton.column);
  for (const std::int32_t column : analysis.fronts.permutation)
    analysis.order.push_back(core.columns[column]);
  if (analysis.fronts.supernode_begin.empty()) analysis.fronts.supernode_begin.push_back(0);
  assign_rows(core, analysis);
  StaircaseCounts(analysis).run();
  return analysis;
}

}  // namespace echelon::sparse_direct

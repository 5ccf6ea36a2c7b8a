// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/matching/weighted_matching.hpp"

#include "matrix/matching/maximum_matching.hpp"
#include "matrix/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Costs of a matrix's elements: how much smaller than the largest element of its row one is, in logarithms.
/// Infinite for an element that does not count.
struct Costs {
  std::vector<double> element;
  std::vector<double> log_row_largest;
};

template <class T>
Costs costs_of(const Csr<T>& a) {
  Costs costs;
  costs.element.resize(static_cast<std::size_t>(a.nonzeros()));
  costs.log_row_largest.resize(static_cast<std::size_t>(a.rows()), 0);
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    double largest = -infinity;
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      const double magnitude = std::abs(static_cast<double>(a.values()[k]));
      costs.element[k] = magnitude > 0 && std::isfinite(magnitude) ? std::log(magnitude) : -infinity;
      largest = std::max(largest, costs.element[k]);
    }
    if (largest == -infinity) largest = 0;
    costs.log_row_largest[i] = largest;
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      costs.element[k] = largest - costs.element[k];
    }
  }
  return costs;
}

/// A matching of least total cost, built row by row along shortest augmenting paths. The dual variables
/// satisfy cost_ij - row_dual_i - column_dual_j >= 0, with equality for matched elements.
class LeastCostMatching {
 public:
  LeastCostMatching(std::span<const std::int64_t> row_begin, std::span<const std::int32_t> columns,
                    std::span<const double> cost)
      : n_(static_cast<std::int32_t>(row_begin.size()) - 1),
        row_begin_(row_begin),
        columns_(columns),
        cost_(cost),
        row_dual_(static_cast<std::size_t>(n_), 0),
        column_dual_(static_cast<std::size_t>(n_), infinity),
        row_of_(static_cast<std::size_t>(n_), -1),
        column_of_(static_cast<std::size_t>(n_), -1),
        distance_(static_cast<std::size_t>(n_), infinity),
        from_(static_cast<std::size_t>(n_)),
        settled_(static_cast<std::size_t>(n_), false) {
    initialize_duals();
    match_tight_elements();
  }

  /// True if all augmenting paths were found within the limit.
  bool run(std::int64_t work_limit) {
    for (std::int32_t row = 0; row < n_; ++row) {
      if (column_of_[row] >= 0) continue;
      if (work_ > work_limit) return false;
      augment_from(row);
    }
    return true;
  }

  /// Sets each row's dual to its largest feasible value: for a matched row its matched element's, up to
  /// rounding; for the others, and for those that lost feasibility to a row without a path, the bound itself.
  void tighten_row_duals() {
    for (std::int32_t i = 0; i < n_; ++i) {
      double least = infinity;
      for (std::int64_t k = row_begin_[i]; k < row_begin_[i + 1]; ++k) {
        least = std::min(least, cost_[k] - column_dual_[columns_[k]]);
      }
      row_dual_[i] = least == infinity ? 0 : least;
    }
  }

  [[nodiscard]] const std::vector<std::int32_t>& row_of_column() const { return row_of_; }
  [[nodiscard]] const std::vector<double>& row_dual() const { return row_dual_; }
  [[nodiscard]] const std::vector<double>& column_dual() const { return column_dual_; }

 private:
  void initialize_duals() {
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      column_dual_[columns_[k]] = std::min(column_dual_[columns_[k]], cost_[k]);
    }
    for (double& dual : column_dual_) {
      if (dual == infinity) dual = 0;
    }
    tighten_row_duals();
  }

  [[nodiscard]] double reduced_cost(std::int32_t i, std::int64_t k) const {
    return std::max(0.0, (cost_[k] - column_dual_[columns_[k]]) - row_dual_[i]);
  }

  void match(std::int32_t row, std::int32_t column) {
    row_of_[column] = row;
    column_of_[row] = column;
  }

  /// Position of a free column at no reduced cost in a row, from `k` on, or the row's end.
  [[nodiscard]] std::int64_t find_free_tight(std::int32_t row, std::int64_t k) const {
    while (k < row_begin_[row + 1] && (row_of_[columns_[k]] >= 0 || reduced_cost(row, k) > 0)) ++k;
    return k;
  }

  /// Matches elements at no reduced cost: each row's first free one, or one whose column's row has another.
  void match_tight_elements() {
    std::vector<std::int64_t> next(row_begin_.begin(), row_begin_.end());
    const auto match_free = [&](std::int32_t row) {
      next[row] = find_free_tight(row, next[row]);  // columns never become free again
      return next[row] < row_begin_[row + 1];
    };
    for (std::int32_t row = 0; row < n_; ++row) {
      if (match_free(row)) {
        match(row, columns_[next[row]]);
        continue;
      }
      for (std::int64_t k = row_begin_[row]; k < row_begin_[row + 1]; ++k) {
        if (reduced_cost(row, k) > 0) continue;
        const std::int32_t other = row_of_[columns_[k]];
        if (!match_free(other)) continue;
        match(other, columns_[next[other]]);
        match(row, columns_[k]);
        break;
      }
    }
  }

  /// Dijkstra's search from a free row for the nearest free column; rows whose search fails stay free.
  void augment_from(std::int32_t root) {
    touched_.clear();
    path_tree_.clear();
    heap_.clear();
    ready_.clear();
    shortest_ = infinity;
    end_ = -1;
    scan(root, 0);
    for (std::int32_t column = next_column(); column >= 0; column = next_column()) {
      settled_[column] = true;
      path_tree_.push_back(column);
      scan(row_of_[column], distance_[column]);
    }
    if (end_ >= 0) {
      update_duals(root);
      augment(root);
      for (const std::int32_t column : path_tree_) settled_[column] = false;
    }  // else these columns lead to no free one in later searches either, and stay settled
    for (const std::int32_t column : touched_) distance_[column] = infinity;
  }

  /// Shortens the distances of the columns of a row that is reached at distance `base`.
  void scan(std::int32_t row, double base) {
    work_ += row_begin_[row + 1] - row_begin_[row] + 1;
    for (std::int64_t k = row_begin_[row]; k < row_begin_[row + 1]; ++k) {
      const std::int32_t column = columns_[k];
      const double distance = base + reduced_cost(row, k);
      if (!(distance < shortest_) || !(distance < distance_[column]) || settled_[column]) continue;
      from_[column] = row;
      if (row_of_[column] < 0) {
        shortest_ = distance;
        end_ = column;
        continue;
      }
      if (distance_[column] == infinity) touched_.push_back(column);
      distance_[column] = distance;
      if (distance <= base) {
        ready_.push_back(column);
      } else {
        heap_.emplace_back(distance, column);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      }
    }
  }

  /// The nearest column that is not settled, or -1 if none is nearer than the free column found so far.
  std::int32_t next_column() {
    while (!ready_.empty()) {
      const std::int32_t column = ready_.back();
      ready_.pop_back();
      if (!settled_[column] && distance_[column] < shortest_) return column;
    }
    while (!heap_.empty() && heap_.front().first < shortest_) {
      const auto [distance, column] = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
      if (!settled_[column] && distance == distance_[column]) return column;
    }
    return -1;
  }

  void update_duals(std::int32_t root) {
    row_dual_[root] += shortest_;
    for (const std::int32_t column : path_tree_) {
      const double slack = shortest_ - distance_[column];
      column_dual_[column] -= slack;
      row_dual_[row_of_[column]] += slack;
    }
  }

  void augment(std::int32_t root) {
    std::int32_t column = end_;
    std::int32_t row = -1;
    while (row != root) {
      row = from_[column];
      const std::int32_t previous = column_of_[row];
      match(row, column);
      column = previous;
    }
  }

  std::int32_t n_;
  std::span<const std::int64_t> row_begin_;
  std::span<const std::int32_t> columns_;
  std::span<const double> cost_;
  std::vector<double> row_dual_;
  std::vector<double> column_dual_;
  std::vector<std::int32_t> row_of_;
  std::vector<std::int32_t> column_of_;
  // One search:
  std::vector<double> distance_;         // of each matched column from the root
  std::vector<std::int32_t> from_;       // the row before each column on its path
  std::vector<bool> settled_;            // and columns that lead to no free one
  std::vector<std::int32_t> touched_;    // columns with a finite distance
  std::vector<std::int32_t> path_tree_;  // settled columns
  std::vector<std::int32_t> ready_;      // columns as near as the last settled one
  std::vector<std::pair<double, std::int32_t>> heap_;
  double shortest_ = infinity;  // distance of end_
  std::int32_t end_ = -1;       // nearest free column
  std::int64_t work_ = 0;
};

/// Maximum matching that contains the largest possible number of the given columns.
template <class T>
std::vector<std::int32_t> completed(const Csr<T>& a, const std::vector<std::int32_t>& row_of_column) {
  const MaximumMatching matching(SparseRows<T>(a), a.rows(), a.columns(),
                                 {row_of_column.begin(), row_of_column.end()});
  return {matching.row_of_column().begin(), matching.row_of_column().end()};
}

}  // namespace

template <class T>
WeightedMatching maximum_product_matching(const Csr<T>& a, std::int64_t work_limit) {
  Costs costs = costs_of(a);
  LeastCostMatching search(a.row_offsets().span(), a.column_indices().span(), costs.element);
  WeightedMatching result;
  result.optimal = search.run(work_limit);
  search.tighten_row_duals();
  result.row_of_column = result.optimal ? search.row_of_column() : completed(a, search.row_of_column());
  result.structural_rank =
      a.rows() - std::count(result.row_of_column.begin(), result.row_of_column.end(), -1);
  result.log_column_scale = search.column_dual();
  result.log_row_scale = search.row_dual();
  for (std::int64_t i = 0; i < a.rows(); ++i) result.log_row_scale[i] -= costs.log_row_largest[i];
  return result;
}

template WeightedMatching maximum_product_matching(const Csr<float>&, std::int64_t);
template WeightedMatching maximum_product_matching(const Csr<double>&, std::int64_t);

std::int64_t default_work_limit(std::int64_t nonzeros) {
  return std::max<std::int64_t>(200'000'000, 20 * nonzeros);
}

}  // namespace echelon::sparse_direct

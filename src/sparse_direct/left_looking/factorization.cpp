// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/left_looking/factorization.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// The factorisation in progress. "Column k" is that of the transposed permuted matrix: row k of P A Q.
/// A "position" is that of a column of A in the block order; its number is that of the pivot that it
/// provides, or -1.
template <class T>
class LeftLooking {
 public:
  LeftLooking(const Csr<T>& a, const Scaling& scaling, const BlockOrder& order,
              const LeftLookingOptions& options, LeftLookingFactors<T>& factors)
      : a_(a),
        scaling_(scaling),
        order_(order),
        options_(options),
        f_(factors),
        position_(order.columns.size()),
        number_(order.columns.size(), -1),
        pivot_position_(order.columns.size()),
        seen_(order.columns.size(), -1),
        search_end_(order.columns.size()),
        is_pruned_(order.columns.size(), false),
        reached_(order.columns.size()),
        path_(order.columns.size()),
        next_(order.columns.size()),
        x_(order.columns.size(), T{0}) {
    for (std::size_t k = 0; k < position_.size(); ++k) {
      position_[order.columns[k]] = static_cast<std::int32_t>(k);
    }
  }

  LeftLookingEnd run() {
    prepare();
    for (std::int64_t b = 0; b < order_.blocks(); ++b) {
      block_begin_ = order_.block_begin[b];
      block_end_ = order_.block_begin[b + 1];
      for (std::int32_t k = block_begin_; k < block_end_; ++k) {
        if (k % check_every == 0 && options_.control.stops_at(share_of_columns(k, order_.size())))
          return LeftLookingEnd::cancelled;
        if (!factor_column(k)) return LeftLookingEnd::no_pivot;
        if (static_cast<double>(f_.lower.size() + f_.upper.size()) > options_.most_entries) {
          return LeftLookingEnd::too_much_fill;
        }
      }
    }
    complete();
    return LeftLookingEnd::finished;
  }

 private:
  void prepare() {
    const std::int64_t n = order_.size();
    f_.block_begin = order_.block_begin;
    f_.row_order = order_.rows;
    f_.column_order.resize(static_cast<std::size_t>(n));
    f_.pivot = Array<T>(Device::serial(), n);
    if (f_.values.size() > 0) {
      for (SparseVectors<T>* vectors : {&f_.lower, &f_.upper, &f_.coupling})
        *vectors = {};  // they borrow them
    }
    f_.values = Array<T>();
    f_.schedule.reset();
    f_.exchanges = 0;
    f_.largest_given = f_.largest_element = f_.flops = 0;
    for (SparseVectors<T>* vectors : {&f_.lower, &f_.upper, &f_.coupling}) {
      vectors->clear();
      vectors->begin.reserve(static_cast<std::size_t>(n) + 1);
    }
    // The upper bounds may exceed the memory, since pages are taken only when they are written to.
    const auto half = static_cast<std::int64_t>(std::min(order_.entries, options_.most_entries) / 2);
    f_.lower.reserve(half);
    f_.upper.reserve(half);
  }

  bool factor_column(std::int32_t k) {
    f_.lower.reserve(block_end_ - k);
    f_.upper.reserve(k - block_begin_);
    scatter(k);
    eliminate();
    const std::int32_t pivot = choose_pivot(k);
    if (pivot < 0) return false;
    store(k, pivot);
    prune(k, pivot);
    return true;
  }

  /// Copies row k of P A Q into x, and finds the pattern that x will have: the steps whose columns of L are
  /// subtracted, in reached_[first_reached_], ..., in topological order, and the positions without a pivot,
  /// in the next column of L.
  void scatter(std::int32_t k) {
    first_reached_ = block_end_;
    lower_end_ = f_.lower.size();
    const std::int32_t row = order_.rows[k];
    const double row_scale = scaling_.rows[row];
    const std::int64_t end = a_.row_offsets()[row + 1];
    f_.coupling.reserve(end - a_.row_offsets()[row]);
    std::int64_t coupling_end = f_.coupling.size();
    for (std::int64_t p = a_.row_offsets()[row]; p < end; ++p) {
      const std::int32_t column = a_.column_indices()[p];
      const std::int32_t position = position_[column];
      const T value =
          static_cast<T>(row_scale * static_cast<double>(a_.values()[p]) * scaling_.columns[column]);
      largest_given_ = std::max(largest_given_, std::fabs(value));
      if (position >= block_end_) {
        f_.coupling.index[coupling_end] = position;
        f_.coupling.value[coupling_end++] = value;
      } else {
        if (seen_[position] != k) search(k, position);
        x_[position] += value;
      }
    }
    f_.coupling.begin.push_back(coupling_end);
  }

  /// Depth-first search from a position.
  void search(std::int32_t k, std::int32_t start) {
    if (number_[start] < 0) {
      seen_[start] = k;
      f_.lower.index[lower_end_++] = start;
      return;
    }
    std::int32_t depth = 0;
    enter(k, start, 0);
    const std::int32_t* index = f_.lower.index.data();
    while (depth >= 0) {
      const std::int32_t step = path_[depth];
      std::int64_t p = next_[depth];
      const std::int64_t end = search_end_[step];
      for (; p < end; ++p) {
        const std::int32_t position = index[p];
        if (seen_[position] == k) continue;
        if (number_[position] >= 0) {
          next_[depth] = p + 1;
          enter(k, position, ++depth);
          break;
        }
        seen_[position] = k;
        f_.lower.index[lower_end_++] = position;
      }
      if (p < end) continue;
      reached_[--first_reached_] = step;
      --depth;
    }
  }

  void enter(std::int32_t k, std::int32_t position, std::int32_t depth) {
    seen_[position] = k;
    path_[depth] = number_[position];
    next_[depth] = f_.lower.begin[number_[position]];
  }

  /// Subtracts columns of L from x; the elements of x above the diagonal become a column of U.
  void eliminate() {
    std::int64_t upper_end = f_.upper.size();
    const std::int32_t* index = f_.lower.index.data();
    const T* value = f_.lower.value.data();
    std::int64_t updates = 0;
    T largest = 0;
    for (std::int32_t r = first_reached_; r < block_end_; ++r) {
      const std::int32_t step = reached_[r];
      const std::int32_t position = pivot_position_[step];
      const T factor = x_[position];
      x_[position] = 0;
      f_.upper.index[upper_end] = step;
      f_.upper.value[upper_end++] = factor;
      largest = std::max(largest, std::fabs(factor));
      const std::int64_t end = f_.lower.begin[step + 1];
      for (std::int64_t p = f_.lower.begin[step]; p < end; ++p) x_[index[p]] -= factor * value[p];
      updates += end - f_.lower.begin[step];
    }
    f_.upper.begin.push_back(upper_end);
    largest_element_ = std::max(largest_element_, largest);
    f_.flops += 2 * static_cast<double>(updates);
  }

  /// Position of the pivot: that of the diagonal element if it is large enough, otherwise that of the largest
  /// element; -1 if that is less than `least_pivot`, infinite or NaN.
  std::int32_t choose_pivot(std::int32_t k) {
    T largest = 0;
    std::int32_t best = -1;
    for (std::int64_t p = f_.lower.size(); p < lower_end_; ++p) {
      const std::int32_t position = f_.lower.index[p];
      const T magnitude = std::fabs(x_[position]);
      if (magnitude > largest) {
        largest = magnitude;
        best = position;
      }
      if (std::isnan(magnitude)) return -1;
    }
    if (best < 0 || !std::isfinite(largest) || largest < least_pivot<T>) return -1;
    largest_element_ = std::max(largest_element_, largest);
    const T least = std::max(static_cast<T>(options_.threshold) * largest, least_pivot<T>);
    const bool candidate = number_[k] < 0 && seen_[k] == k;
    if (candidate && std::fabs(x_[k]) >= least) return k;
    if (best != k) ++f_.exchanges;
    return best;
  }

  void store(std::int32_t k, std::int32_t pivot_position) {
    const T pivot = x_[pivot_position];
    x_[pivot_position] = 0;
    std::int64_t end = f_.lower.size();
    for (std::int64_t p = end; p < lower_end_; ++p) {
      const std::int32_t position = f_.lower.index[p];
      if (position == pivot_position) continue;
      f_.lower.index[end] = position;
      f_.lower.value[end++] = x_[position] / pivot;
      x_[position] = 0;
    }
    f_.flops += static_cast<double>(end - f_.lower.size());
    f_.lower.begin.push_back(end);
    search_end_[k] = end;
    f_.pivot[k] = pivot;
    number_[pivot_position] = k;
    pivot_position_[k] = pivot_position;
  }

  /// Prunes columns of L symmetrically. If column `step` of L has an entry in the pivot's row, and U has one
  /// in row `step` of this column, a search that enters column `step` of L reaches all other rows without a
  /// pivot through the new pivot. From then on searches follow only the entries with a pivot, which are put
  /// first.
  void prune(std::int32_t k, std::int32_t pivot_position) {
    std::int32_t* index = f_.lower.index.data();
    T* value = f_.lower.value.data();
    for (std::int64_t u = f_.upper.begin[k]; u < f_.upper.begin[k + 1]; ++u) {
      const std::int32_t step = f_.upper.index[u];
      const std::int64_t begin = f_.lower.begin[step];
      const std::int64_t end = f_.lower.begin[step + 1];
      if (is_pruned_[step]) continue;
      if (std::find(index + begin, index + end, pivot_position) == index + end) continue;
      std::int64_t head = begin;
      for (std::int64_t tail = end; head < tail;) {
        if (number_[index[head]] >= 0) {
          ++head;
        } else {
          --tail;
          std::swap(index[head], index[tail]);
          std::swap(value[head], value[tail]);
        }
      }
      search_end_[step] = head;
      is_pruned_[step] = true;
    }
  }

  /// Replaces positions by numbers of pivots.
  void complete() {
    f_.complete();
    for (SparseVectors<T>* vectors : {&f_.lower, &f_.coupling}) {
      for (std::int32_t& index : vectors->index.span()) index = number_[index];
    }
    for (std::size_t k = 0; k < pivot_position_.size(); ++k) {
      f_.column_order[k] = order_.columns[pivot_position_[k]];
    }
    f_.largest_given = static_cast<double>(largest_given_);
    f_.largest_element = static_cast<double>(largest_element_);
  }

  const Csr<T>& a_;
  const Scaling& scaling_;
  const BlockOrder& order_;
  const LeftLookingOptions& options_;
  LeftLookingFactors<T>& f_;
  std::vector<std::int32_t> position_;        // of each column of A
  std::vector<std::int32_t> number_;          // of each position
  std::vector<std::int32_t> pivot_position_;  // of each step
  std::vector<std::int32_t> seen_;            // last column that has an entry in the position
  std::vector<std::int64_t> search_end_;      // of each column of L: entries before it are followed
  std::vector<bool> is_pruned_;
  std::vector<std::int32_t> reached_;
  std::vector<std::int32_t> path_;  // steps on the path of a search,
  std::vector<std::int64_t> next_;  // and the next entries to follow
  std::vector<T> x_;                // the column, by positions; zero between columns
  std::int32_t block_begin_ = 0;
  std::int32_t block_end_ = 0;
  std::int32_t first_reached_ = 0;
  std::int64_t lower_end_ = 0;  // of the column of L that is being computed
  T largest_given_ = 0;
  T largest_element_ = 0;
};

}  // namespace

template <class T>
LeftLookingEnd factor_left_looking(const Csr<T>& a, const Scaling& scaling, const BlockOrder& order,
                                   const LeftLookingOptions& options, LeftLookingFactors<T>& factors) {
  return LeftLooking<T>(a, scaling, order, options, factors).run();
}

template LeftLookingEnd factor_left_looking(const Csr<float>&, const Scaling&, const BlockOrder&,
                                            const LeftLookingOptions&, LeftLookingFactors<float>&);
template LeftLookingEnd factor_left_looking(const Csr<double>&, const Scaling&, const BlockOrder&,
                                            const LeftLookingOptions&, LeftLookingFactors<double>&);

}  // namespace echelon::sparse_direct

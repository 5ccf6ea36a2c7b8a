// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/singletons/singletons.hpp"

#include <echelon/matrix/transform.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

namespace {

/// Rows of a matrix, or its columns, and what is known of each line's elements in the lines of the other kind
/// that are left.
template <class T>
class ActiveLines {
 public:
  explicit ActiveLines(const Csr<T>& matrix)
      : matrix_(matrix),
        count_(static_cast<std::size_t>(matrix.rows()), 0),
        sum_(count_.size(), 0),
        is_left_(count_.size(), true) {
    for (std::int32_t i = 0; i < matrix.rows(); ++i)
      for_each_element(i, [&](std::int32_t j, double) { ++count_[i], sum_[i] += j; });
  }

  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(count_.size()); }
  [[nodiscard]] bool is_left(std::int32_t i) const { return is_left_[i]; }
  [[nodiscard]] std::int32_t count(std::int32_t i) const { return count_[i]; }
  /// Position of the only element of a line.
  [[nodiscard]] std::int32_t only(std::int32_t i) const { return static_cast<std::int32_t>(sum_[i]); }

  /// True if an element is at least this fraction of the largest one of its line, all elements counted.
  [[nodiscard]] bool is_large(std::int32_t i, std::int32_t j, double fraction) const {
    double largest = 0;
    double magnitude = 0;
    for_each_element(i, [&](std::int32_t k, double value) {
      largest = std::max(largest, value);
      if (k == j) magnitude = value;
    });
    return std::isfinite(largest) && magnitude >= fraction * largest;
  }

  /// Leaves a line out. Collects the lines of the other kind that have one element left.
  void leave_out(std::int32_t i, ActiveLines& others, std::vector<std::int32_t>& alone) {
    is_left_[i] = false;
    for_each_element(i, [&](std::int32_t j, double) {
      others.sum_[j] -= i;
      if (--others.count_[j] == 1 && others.is_left_[j]) alone.push_back(j);
    });
  }

 private:
  template <class F>
  void for_each_element(std::int32_t i, const F& f) const {
    for (std::int64_t k = matrix_.row_offsets()[i]; k < matrix_.row_offsets()[i + 1]; ++k) {
      const double magnitude = std::abs(static_cast<double>(matrix_.values()[k]));
      if (magnitude != 0) f(matrix_.column_indices()[k], magnitude);
    }
  }

  const Csr<T>& matrix_;
  std::vector<std::int32_t> count_;  // elements in lines that are left
  std::vector<std::int64_t> sum_;    // of their positions
  std::vector<bool> is_left_;
};

template <class T>
class Search {
 public:
  Search(const Csr<T>& a, const Csr<T>& transpose, double least)
      : rows_(a), columns_(transpose), least_(least) {}

  Singletons run() {
    for (std::int32_t i = 0; i < rows_.size(); ++i) {
      if (rows_.count(i) == 1) alone_rows_.push_back(i);
      if (columns_.count(i) == 1) alone_columns_.push_back(i);
    }
    while (!alone_rows_.empty() || !alone_columns_.empty()) {
      if (!alone_rows_.empty()) {
        take(rows_, columns_, alone_rows_, alone_columns_, result_.rows, result_.columns);
      } else {
        take(columns_, rows_, alone_columns_, alone_rows_, last_columns_, last_rows_);
      }
    }
    return finished();
  }

 private:
  /// Takes the last line of a list as a singleton, if its element is large enough.
  void take(ActiveLines<T>& lines, ActiveLines<T>& others, std::vector<std::int32_t>& alone,
            std::vector<std::int32_t>& alone_others, std::vector<std::int32_t>& taken,
            std::vector<std::int32_t>& taken_others) {
    const std::int32_t i = alone.back();
    alone.pop_back();
    if (!lines.is_left(i) || lines.count(i) != 1) return;
    const std::int32_t j = lines.only(i);
    if (!lines.is_large(i, j, least_)) return;
    lines.leave_out(i, others, alone_others);
    others.leave_out(j, lines, alone);
    taken.push_back(i);
    taken_others.push_back(j);
  }

  Singletons finished() {
    result_.core_begin = std::ssize(result_.rows);
    std::vector<std::int32_t> zero_rows;
    std::vector<std::int32_t> zero_columns;
    append_left(rows_, result_.rows, zero_rows);
    append_left(columns_, result_.columns, zero_columns);
    // The core is square: the shorter side takes zero lines.
    result_.core_end = std::max(std::ssize(result_.rows), std::ssize(result_.columns));
    const std::size_t more_rows = static_cast<std::size_t>(result_.core_end) - result_.rows.size();
    const std::size_t more_columns = static_cast<std::size_t>(result_.core_end) - result_.columns.size();
    append(zero_rows.begin(), zero_rows.begin() + static_cast<std::ptrdiff_t>(more_rows), result_.rows);
    append(zero_columns.begin(), zero_columns.begin() + static_cast<std::ptrdiff_t>(more_columns),
           result_.columns);
    append(last_rows_.rbegin(), last_rows_.rend(), result_.rows);
    append(last_columns_.rbegin(), last_columns_.rend(), result_.columns);
    result_.end = std::ssize(result_.rows);
    append(zero_rows.begin() + static_cast<std::ptrdiff_t>(more_rows), zero_rows.end(), result_.rows);
    append(zero_columns.begin() + static_cast<std::ptrdiff_t>(more_columns), zero_columns.end(),
           result_.columns);
    return std::move(result_);
  }

  static void append_left(const ActiveLines<T>& lines, std::vector<std::int32_t>& list,
                          std::vector<std::int32_t>& zero) {
    for (std::int32_t i = 0; i < lines.size(); ++i) {
      if (lines.is_left(i)) (lines.count(i) > 0 ? list : zero).push_back(i);
    }
  }
  template <class Iterator>
  static void append(Iterator begin, Iterator end, std::vector<std::int32_t>& list) {
    list.insert(list.end(), begin, end);
  }

  ActiveLines<T> rows_, columns_;
  double least_;
  std::vector<std::int32_t> alone_rows_, alone_columns_;
  std::vector<std::int32_t> last_rows_, last_columns_;  // singletons of columns, the last of all first
  Singletons result_;
};

}  // namespace

template <class T>
Singletons find_singletons(const Csr<T>& a, double least) {
  const Csr<T> transpose = echelon::transpose(a);
  return Search<T>(a, transpose, least).run();
}

template Singletons find_singletons(const Csr<float>&, double);
template Singletons find_singletons(const Csr<double>&, double);

}  // namespace echelon::sparse_direct

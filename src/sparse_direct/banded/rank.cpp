// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/banded/rank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace echelon::banded {

namespace {

/// A row whose elements before its first column are zero.
template <class T>
struct CandidateRow {
  std::int64_t number = 0;
  std::int64_t first = 0;
  std::vector<T> elements;

  [[nodiscard]] std::int64_t end() const { return first + static_cast<std::int64_t>(elements.size()); }
  /// Element of column j, which is not before the first.
  [[nodiscard]] T at(std::int64_t j) const {
    return j < end() ? elements[static_cast<std::size_t>(j - first)] : T{0};
  }
};

/// The rows that have elements in the current column, and the ranks found so far.
template <class T>
class BandReduction {
 public:
  BandReduction(const BandElements<T>& A, std::int64_t n, double tolerance)
      : A_(A), n_(n), tolerance_(tolerance) {
    result_.smallest_pivot = std::numeric_limits<double>::infinity();
  }

  BandRank reduce() {
    for (std::int64_t j = 0; j < n_; ++j) {
      for (; next_row_ < n_ && next_row_ <= j + A_.lower; ++next_row_) take_row(next_row_);
      eliminate(j);
    }
    for (const CandidateRow<T>& row : candidates_) result_.dependent_rows.push_back(row.number);
    std::sort(result_.dependent_rows.begin(), result_.dependent_rows.end());
    result_.rank = n_ - static_cast<std::int64_t>(result_.dependent_columns.size());
    if (result_.rank == 0) result_.smallest_pivot = 0;
    return std::move(result_);
  }

 private:
  void take_row(std::int64_t i) {
    CandidateRow<T> row;
    row.number = i;
    row.first = std::max<std::int64_t>(0, i - A_.lower);
    for (std::int64_t j = row.first; j < std::min(n_, i + A_.upper + 1); ++j)
      row.elements.push_back(A_(i, j));
    candidates_.push_back(std::move(row));
  }

  void eliminate(std::int64_t j) {
    const auto pivot = std::max_element(candidates_.begin(), candidates_.end(),
                                        [j](const CandidateRow<T>& a, const CandidateRow<T>& b) {
                                          return std::abs(a.at(j)) < std::abs(b.at(j));
                                        });
    const double size = pivot == candidates_.end() ? 0 : std::abs(static_cast<double>(pivot->at(j)));
    if (size > tolerance_) {
      result_.smallest_pivot = std::min(result_.smallest_pivot, size);
      const CandidateRow<T> pivot_row = std::move(*pivot);
      candidates_.erase(pivot);
      for (CandidateRow<T>& row : candidates_) subtract(pivot_row, j, row);
    } else {
      result_.largest_rejected = std::max(result_.largest_rejected, size);
      result_.dependent_columns.push_back(j);
    }
    for (CandidateRow<T>& row : candidates_) drop_first(row, j);
    retire_zero_rows();
  }

  static void subtract(const CandidateRow<T>& pivot_row, std::int64_t j, CandidateRow<T>& row) {
    const T multiplier = row.at(j) / pivot_row.at(j);
    if (multiplier == 0) return;
    if (row.end() < pivot_row.end()) {
      row.elements.resize(static_cast<std::size_t>(pivot_row.end() - row.first), T{0});
    }
    for (std::int64_t c = j; c < pivot_row.end(); ++c) {
      row.elements[static_cast<std::size_t>(c - row.first)] -= multiplier * pivot_row.at(c);
    }
  }

  /// Drops the elements up to column j, so that the row begins after it.
  static void drop_first(CandidateRow<T>& row, std::int64_t j) {
    if (row.first > j) return;
    const auto count =
        std::min<std::int64_t>(j + 1 - row.first, static_cast<std::int64_t>(row.elements.size()));
    row.elements.erase(row.elements.begin(), row.elements.begin() + count);
    row.first = j + 1;
  }

  /// Takes rows whose elements are at the level of rounding errors for dependent ones. As candidates they
  /// would be combined with further rows, by which rounding errors may grow.
  void retire_zero_rows() {
    const auto is_zero = [this](const CandidateRow<T>& row) {
      return std::all_of(row.elements.begin(), row.elements.end(),
                         [this](T element) { return std::abs(static_cast<double>(element)) <= tolerance_; });
    };
    for (const CandidateRow<T>& row : candidates_) {
      if (is_zero(row)) result_.dependent_rows.push_back(row.number);
    }
    std::erase_if(candidates_, is_zero);
  }

  BandElements<T> A_;
  std::int64_t n_;
  double tolerance_;
  std::int64_t next_row_ = 0;
  std::vector<CandidateRow<T>> candidates_;
  BandRank result_;
};

}  // namespace

template <class T>
BandRank find_rank(const BandElements<T>& A, std::int64_t n, double tolerance) {
  return BandReduction<T>(A, n, tolerance).reduce();
}

template BandRank find_rank(const BandElements<float>&, std::int64_t, double);
template BandRank find_rank(const BandElements<double>&, std::int64_t, double);

}  // namespace echelon::banded

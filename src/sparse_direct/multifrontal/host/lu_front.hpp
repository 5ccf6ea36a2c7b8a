// SPDX-License-Identifier: BSD-3-Clause
/// Partial LU factorisation of a front with threshold partial pivoting.
#pragma once

#include "sparse_direct/multifrontal/fronts/front.hpp"
#include "sparse_direct/multifrontal/host/dense_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace echelon::sparse_direct {

namespace lu_detail {

/// The factorisation in progress of a front. Pivots are counted from 0; the rows and columns of eliminated
/// ones come first.
template <class Isa, class T>
class LuFront {
 public:
  LuFront(PackBuffers<T>& buffers, const UnsymmetricFront<T>& front, const PivotThresholds<T>& thresholds)
      : buffers_(buffers),
        front_(front),
        thresholds_(thresholds),
        size_(front.size),
        columns_(front.pivots),
        a_(front.lower) {}

  FrontResult<T> factor() {
    int eliminated = eliminate_all();
    eliminated = retry(eliminated, thresholds_.column);
    eliminated = retry(eliminated, thresholds_.last);
    if (thresholds_.perturbation > 0) eliminated = retry(eliminated, 0);
    update_upper(eliminated);
    return {eliminated, perturbed_, largest_};
  }

 private:
  /// Tries the columns that failed again, until a pass eliminates none.
  int retry(int eliminated, Real<T> threshold) {
    threshold_ = threshold;
    while (eliminated < columns_) {
      const int more = eliminate(eliminated, columns_);
      exchange_rows(eliminated, eliminated + more, 0, eliminated);
      if (more == 0) return eliminated;
      eliminated += more;
    }
    return eliminated;
  }
  int eliminate_all() {
    threshold_ = thresholds_.column;
    return eliminate(0, columns_);
  }

  [[nodiscard]] T* at(int i, int j) const { return a_ + i + static_cast<std::int64_t>(j) * size_; }

  /// Eliminates columns [first, last), to which all pivots before have been applied, with pivots from `first`
  /// on. Returns how many; the columns that failed come last, with all pivots applied.
  int eliminate(int first, int last) {
    if (last - first <= narrow) return eliminate_narrow(first, last);
    const int middle = first + ((last - first) / 2 + narrow - 1) / narrow * narrow;
    const int left = eliminate(first, middle);
    if (buffers_.is_cancelled()) return left;
    const int failed = middle - first - left;
    apply(first, first + left, middle, last);
    const int active = last - failed;
    for (int k = 0; k < std::min(failed, last - middle); ++k)
      exchange_columns(first + left + k, last - 1 - k);
    const int right = eliminate(first + left, active);
    exchange_rows(first + left, first + left + right, first, first + left);
    apply(first + left, first + left + right, active, last);
    return left + right;
  }

  /// Counterpart of `eliminate` that proceeds column by column: a column receives the updates of all earlier
  /// pivots at once, which yields its largest element without another pass.
  int eliminate_narrow(int first, int last) {
    if (buffers_.is_cancelled()) return 0;
    int applied[narrow] = {};
    int done = 0;
    int active = last;
    while (first + done < active) {
      const int column = first + done;
      bring_up_to_date(first, column, applied[done], done);
      applied[done] = done;
      const int pivot_row = find_pivot(column);
      if (pivot_row < 0) {
        --active;
        exchange_columns(column, active);
        std::swap(applied[done], applied[active - first]);
        continue;
      }
      front_.exchanges[column] = pivot_row;
      if (pivot_row != column) {
        for (int j = first; j < last; ++j) std::swap(*at(column, j), *at(pivot_row, j));
        std::swap(front_.row_ids[column], front_.row_ids[pivot_row]);
      }
      largest_ = std::max({largest_, largest_candidate_, largest_below_});
      divide<Isa>(size_ - column - 1, *at(column, column), at(column + 1, column));
      ++done;
    }
    for (int j = active; j < last; ++j) bring_up_to_date(first, j, applied[j - first], done);
    return done;
  }

  /// Applies pivots first + from, ..., first + to - 1 to a column, and finds its largest elements.
  void bring_up_to_date(int first, int column, int from, int to) {
    T* a = at(first, column);
    for (int p = from; p < to; ++p) {
      const T* l = at(first, first + p);
      for (int i = p + 1; i < to; ++i) a[i] = minus_product(a[i], l[i], a[p]);
    }
    const int candidates = std::max(columns_ - first - to, 0);
    const T* l = at(first + to, first + from);
    const auto update = [&]<int Terms>() {
      largest_candidate_ = update_column<Isa, Terms>(candidates, l, size_, a + from, a + to);
      largest_below_ =
          update_column<Isa, Terms>(size_ - columns_, l + candidates, size_, a + from, a + to + candidates);
    };
    switch (to - from) {
      case 0:
        return update.template operator()<0>();
      case 1:
        return update.template operator()<1>();
      case 2:
        return update.template operator()<2>();
      case 3:
        return update.template operator()<3>();
      case 4:
        return update.template operator()<4>();
      case 5:
        return update.template operator()<5>();
      case 6:
        return update.template operator()<6>();
      case 7:
        return update.template operator()<7>();
      default:
        return update.template operator()<8>();
    }
  }

  /// Row of the pivot of a column that has just been measured, or -1 if all candidates are too small: the
  /// diagonal element of A if it is large enough, which avoids unnecessary row exchanges, otherwise the
  /// largest candidate. In the last pass, which has no threshold, an element that is too small is replaced.
  [[nodiscard]] int find_pivot(int column) {
    const Real<T> bound = std::max(threshold_ * largest_below_, thresholds_.smallest);
    if (!std::isfinite(largest_candidate_) || !std::isfinite(largest_below_)) return -1;
    if (threshold_ == 0) return replace_small(column);
    if (!(largest_candidate_ >= bound) || largest_candidate_ == 0) return -1;
    const bool on_diagonal = front_.row_ids[column] == front_.column_ids[column];
    const Real<T> least = std::max(threshold_ * largest_candidate_, bound);
    if (on_diagonal && pivot_size(*at(column, column)) >= least) return column;
    return row_of_largest(column);
  }
  [[nodiscard]] int row_of_largest(int column) const {
    return column + first_at_least<Isa>(columns_ - column, at(column, column), largest_candidate_);
  }
  int replace_small(int column) {
    const int row = row_of_largest(column);
    const Real<T> least = thresholds_.perturbation * std::max(Real<T>{1}, largest_below_);
    if (largest_candidate_ >= least) return row;
    *at(row, column) = of_size(least, *at(row, column));
    ++perturbed_;
    return row;
  }

  void exchange_columns(int i, int j) const {
    if (i == j) return;
    std::swap_ranges(at(0, i), at(0, i) + size_, at(0, j));
    std::swap(front_.column_ids[i], front_.column_ids[j]);
  }

  /// Exchanges rows as pivots [first, last) did, in columns [begin, end).
  void exchange_rows(int first, int last, int begin, int end) const {
    for (int j = begin; j < end; ++j) {
      T* a = at(0, j);
      for (int p = first; p < last; ++p) std::swap(a[p], a[front_.exchanges[p]]);
    }
  }

  /// Applies pivots [first, last) to columns [begin, end).
  void apply(int first, int last, int begin, int end) {
    if (first == last || begin == end) return;
    exchange_rows(first, last, begin, end);
    solve_unit_lower<Isa>(buffers_, last - first, at(first, first), size_, end - begin, at(first, begin),
                          size_);
    subtract_product<Isa>(buffers_, Part::full, size_ - last, end - begin, last - first, at(last, first),
                          size_, RightOperand<T>{at(first, begin), 1, size_}, at(last, begin), size_);
  }

  /// Computes the rows of U to the right of the pivot columns, and the update matrix.
  void update_upper(int eliminated) {
    const int below = size_ - columns_;
    if (below == 0 || eliminated == 0 || buffers_.is_cancelled()) return;
    T* u = front_.upper;
    for (int p = 0; p < eliminated; ++p) {
      const int q = front_.exchanges[p];
      if (q != p) {
        T* other = u + static_cast<std::int64_t>(q) * below;
        std::swap_ranges(u + static_cast<std::int64_t>(p) * below,
                         u + static_cast<std::int64_t>(p + 1) * below, other);
      }
    }
    solve_upper(0, eliminated);
    subtract_product<Isa>(buffers_, Part::full, below, columns_ - eliminated, eliminated, u, below,
                          transposed(at(eliminated, 0), size_),
                          u + static_cast<std::int64_t>(eliminated) * below, below);
    subtract_product<Isa>(buffers_, Part::full, below, below, eliminated, at(columns_, 0), size_,
                          transposed(u, below), front_.update, below);
  }

  /// Solves for columns [first, last) of X L^T = A, where A is the transpose of the rows to the right of the
  /// pivot columns.
  void solve_upper(int first, int last) {
    const int below = size_ - columns_;
    T* u = front_.upper + static_cast<std::int64_t>(first) * below;
    if (last - first > narrow) {
      const int middle = first + ((last - first) / 2 + narrow - 1) / narrow * narrow;
      solve_upper(first, middle);
      subtract_product<Isa>(buffers_, Part::full, below, last - middle, middle - first, u, below,
                            transposed(at(middle, first), size_),
                            front_.upper + static_cast<std::int64_t>(middle) * below, below);
      solve_upper(middle, last);
      return;
    }
    with_constant(last - first, [&](auto count) {
      T lower[narrow * narrow] = {};
      for (int j = 0; j < count; ++j) {
        for (int i = j + 1; i < count; ++i) lower[i * narrow + j] = *at(first + i, first + j);
      }
      solve_rows<Isa, count, true>(below, lower, static_cast<const T*>(nullptr), u, below);
    });
  }

  PackBuffers<T>& buffers_;
  const UnsymmetricFront<T>& front_;
  const PivotThresholds<T>& thresholds_;
  int size_;
  int columns_;
  T* a_;
  Real<T> threshold_ = 0;
  Real<T> largest_candidate_ = 0;  // of the column measured last, in the rows that may become pivots
  Real<T> largest_below_ = 0;      // in the rows that may not
  Real<T> largest_ = 0;            // in the columns of all pivots
  int perturbed_ = 0;
};

}  // namespace lu_detail

/// Eliminates the leading columns of a front, with pivots from its leading rows, as far as the thresholds
/// allow. Rows and columns are exchanged so that those eliminated come first. On return
/// `lower` holds L (unit diagonal, not stored) and, above its diagonal, U; `upper` the transpose of U's other
/// columns; the remaining columns of both, and `update`, hold the Schur complement.
template <class Isa, class T>
FrontResult<T> factor_lu_front(PackBuffers<T>& buffers, const UnsymmetricFront<T>& front,
                               const PivotThresholds<T>& thresholds) {
  return lu_detail::LuFront<Isa, T>(buffers, front, thresholds).factor();
}

}  // namespace echelon::sparse_direct

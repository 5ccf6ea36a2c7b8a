// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/qr/factors.hpp"

#include "dense/factorization/packed_factors.hpp"
#include "support/scalar.hpp"

#include <support/scalar_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::sparse_direct {

/// The factorisation of the fronts, from the leaves to the roots.
template <class T>
class QrFactors<T>::Elimination {
 public:
  Elimination(QrFactors& factors, const QrMatrix<T>& S, std::vector<std::int32_t> position)
      : factors_(factors),
        analysis_(*factors.analysis_),
        fronts_(analysis_.fronts),
        S_(S),
        position_(std::move(position)),
        staircase_(static_cast<std::size_t>(analysis_.most_columns)),
        next_(staircase_.size()),
        place_(static_cast<std::size_t>(fronts_.n)) {
    make_room(analysis_.most_rows, analysis_.most_columns, analysis_.largest_front);
  }

  void factor(std::int64_t s, double tolerance) {
    const std::int32_t* const below = fronts_.rows.data() + fronts_.row_begin[s];
    const auto pivots = static_cast<std::int32_t>(fronts_.pivots(s));
    columns_ = static_cast<std::int32_t>(fronts_.front_size(s));
    for (std::int32_t k = 0; k < pivots; ++k) place_[fronts_.supernode_begin[s] + k] = k;
    for (std::int32_t k = pivots; k < columns_; ++k) place_[below[k - pivots]] = k;
    std::size_t first_child = waiting_.size();
    while (first_child > 0 && fronts_.parent[waiting_[first_child - 1].front] == s) --first_child;
    count_rows(s, first_child);
    make_room(rows_, columns_, std::int64_t{rows_} * columns_);
    assemble(s, first_child);
    const ReflectedFront factored = qr_kernels<T>().factor({.elements = elements_.data(),
                                                            .rows = rows_,
                                                            .columns = columns_,
                                                            .pivots = pivots,
                                                            .staircase = staircase_.data(),
                                                            .tolerance = static_cast<Real<T>>(tolerance),
                                                            .reflections = reflections_.data(),
                                                            .leading = leading_.data(),
                                                            .work = work_.data()});
    factors_.largest_dropped_ = std::max(factors_.largest_dropped_, factored.largest_dropped);
    keep(s, factored);
    release(first_child);
    pass_on(s, factored);
  }

 private:
  /// Rows that wait for the parent of a front: their elements, column-major, and in `rows` and `leads` the
  /// rows of S at which they are and the columns of R in which they begin.
  struct Passed {
    std::int64_t front;
    std::size_t elements_begin, rows_begin;
    std::int32_t rows;
  };

  /// Makes memory for a front: dependent columns leave more rows to its parent than predicted.
  void make_room(std::int64_t rows, std::int64_t columns, std::int64_t elements) {
    const auto at_least = [](auto& memory, std::int64_t size) {
      if (std::ssize(memory) < size) memory.resize(static_cast<std::size_t>(size));
    };
    at_least(elements_, elements);
    at_least(work_, QrFront<T>::work_size(rows, columns));
    at_least(reflections_, std::min(rows, columns));
    at_least(leading_, std::min(rows, columns));
  }

  /// Computes the staircase of a front, and the place of the first row that begins in each column.
  void count_rows(std::int64_t s, std::size_t first_child) {
    std::fill_n(staircase_.begin(), columns_, 0);
    for (std::int32_t i = analysis_.rows_begin[s]; i < analysis_.rows_begin[s + 1]; ++i)
      ++staircase_[place_[analysis_.first_pivots[i]]];
    for (std::size_t c = first_child; c < waiting_.size(); ++c) {
      for (std::int32_t i = 0; i < waiting_[c].rows; ++i)
        ++staircase_[place_[passed_leads_[waiting_[c].rows_begin + static_cast<std::size_t>(i)]]];
    }
    rows_ = 0;
    for (std::int32_t k = 0; k < columns_; ++k) {
      next_[k] = rows_;
      rows_ += staircase_[k];
      staircase_[k] = rows_;
    }
  }

  void assemble(std::int64_t s, std::size_t first_child) {
    std::fill_n(elements_.begin(), std::int64_t{rows_} * columns_, T{0});
    const std::size_t rows_begin = factors_.front_rows_.size();
    factors_.front_rows_.resize(rows_begin + static_cast<std::size_t>(rows_));
    rows_of_S_ = factors_.front_rows_.data() + rows_begin;
    const auto core = static_cast<std::int32_t>(analysis_.core_begin());
    for (std::int32_t i = analysis_.rows_begin[s]; i < analysis_.rows_begin[s + 1]; ++i) {
      const std::int32_t row = next_[place_[analysis_.first_pivots[i]]]++;
      const std::int32_t of_S = analysis_.rows[i];
      rows_of_S_[row] = of_S;
      for (std::int64_t k = S_.pattern.row_begin[of_S]; k < S_.pattern.row_begin[of_S + 1]; ++k) {
        const std::int32_t column = place_[position_[S_.pattern.indices[k]] - core];
        elements_[row + std::int64_t{column} * rows_] = S_.values[k];
      }
    }
    for (std::size_t c = first_child; c < waiting_.size(); ++c) add(waiting_[c]);
  }

  /// Adds the rows that a child has passed on.
  void add(const Passed& child) {
    const auto columns = fronts_.rows_of(child.front);
    to_row_.resize(static_cast<std::size_t>(child.rows));
    for (std::int32_t i = 0; i < child.rows; ++i) {
      const std::size_t at = child.rows_begin + static_cast<std::size_t>(i);
      to_row_[i] = next_[place_[passed_leads_[at]]]++;
      rows_of_S_[to_row_[i]] = passed_rows_[at];
    }
    const T* from = passed_.data() + child.elements_begin;
    for (const std::int32_t column : columns) {
      T* const to = elements_.data() + std::int64_t{place_[column]} * rows_;
      for (std::int32_t i = 0; i < child.rows; ++i) to[to_row_[i]] = from[i];
      from += child.rows;
    }
  }

  /// Keeps R and the vectors of a front.
  void keep(std::int64_t s, const ReflectedFront& factored) {
    factors_.fronts_.push_back({.rows_begin = std::ssize(factors_.front_rows_) - rows_,
                                .factor_begin = std::ssize(factors_.factor_),
                                .vectors_begin = std::ssize(factors_.vectors_),
                                .reflections_begin = std::ssize(factors_.reflections_),
                                .rows = rows_,
                                .rank = factored.rank,
                                .reflections = factored.reflections});
    std::int32_t filled = 0;  // rows of R that begin up to column k
    for (std::int32_t k = 0; k < columns_; ++k) {
      const T* const column = elements_.data() + std::int64_t{k} * rows_;
      if (filled < factored.rank && leading_[filled] == k) {
        factors_.note_pivot(fronts_.supernode_begin[s] + k, filled, magnitude(column[filled]));
        ++filled;
      }
      factors_.factor_.insert(factors_.factor_.end(), column, column + filled);
      factors_.factor_.insert(factors_.factor_.end(), static_cast<std::size_t>(factored.rank - filled), T{0});
    }
    for (std::int32_t q = 0; q < factored.reflections; ++q) {
      const Reflection<T>& reflection = reflections_[q];
      const T* const column = elements_.data() + std::int64_t{leading_[q]} * rows_ + reflection.first;
      factors_.vectors_.push_back(T{1});
      factors_.vectors_.insert(factors_.vectors_.end(), column + 1, column + reflection.rows);
      factors_.reflections_.push_back(reflection);
    }
  }

  /// Releases the rows of the children, which are the last ones that wait.
  void release(std::size_t first_child) {
    if (first_child == waiting_.size()) return;
    passed_.resize(waiting_[first_child].elements_begin);
    passed_rows_.resize(waiting_[first_child].rows_begin);
    passed_leads_.resize(waiting_[first_child].rows_begin);
    waiting_.resize(first_child);
  }

  void pass_on(std::int64_t s, const ReflectedFront& factored) {
    const std::int32_t rows = factored.reflections - factored.rank;
    if (rows == 0) return;
    const auto pivots = static_cast<std::int32_t>(fronts_.pivots(s));
    const auto below = fronts_.rows_of(s);
    waiting_.push_back({s, passed_.size(), passed_rows_.size(), rows});
    for (std::int32_t q = factored.rank; q < factored.reflections; ++q) {
      passed_rows_.push_back(rows_of_S_[q]);
      passed_leads_.push_back(below[leading_[q] - pivots]);
    }
    std::int32_t filled = factored.rank;
    for (std::int32_t k = pivots; k < columns_; ++k) {
      const T* const column = elements_.data() + std::int64_t{k} * rows_;
      if (filled < factored.reflections && leading_[filled] == k) ++filled;
      passed_.insert(passed_.end(), column + factored.rank, column + filled);
      passed_.insert(passed_.end(), static_cast<std::size_t>(factored.reflections - filled), T{0});
    }
  }

  QrFactors& factors_;
  const QrAnalysis& analysis_;
  const SymbolicFactor& fronts_;
  const QrMatrix<T>& S_;
  std::vector<std::int32_t> position_;  // column of R for each column of S
  UninitializedVector<T> elements_, work_;
  std::vector<Reflection<T>> reflections_;
  std::vector<std::int32_t> leading_, staircase_;
  std::vector<std::int32_t> next_;   // free row among those that begin in a column of the front
  std::vector<std::int32_t> place_;  // of a pivot in the front
  std::vector<std::int32_t> to_row_;
  std::int32_t rows_ = 0, columns_ = 0;  // of the front
  std::int32_t* rows_of_S_ = nullptr;    // for the rows of the front
  std::vector<Passed> waiting_;
  UninitializedVector<T> passed_;
  std::vector<std::int32_t> passed_rows_, passed_leads_;
};

template <class T>
void QrFactors<T>::note_pivot(std::int64_t pivot, std::int32_t row, double size) {
  pivot_rows_[pivot] = row;
  smallest_pivot_ = rank_++ == 0 ? size : std::min(smallest_pivot_, size);
}

template <class T>
void QrFactors<T>::factor_singletons(const QrMatrix<T>& S, std::span<const std::int32_t> position) {
  singletons_begin_ = {0};
  singleton_columns_.clear();
  singleton_values_.clear();
  for (const ColumnSingleton& singleton : analysis_->singletons) {
    const auto add = [&](std::int64_t k) {
      singleton_columns_.push_back(position[S.pattern.indices[k]]);
      singleton_values_.push_back(S.values[k]);
    };
    add(singleton.element);
    const std::int64_t end = S.pattern.row_begin[singleton.row + 1];
    for (std::int64_t k = S.pattern.row_begin[singleton.row]; k < end; ++k) {
      if (k != singleton.element) add(k);
    }
    singletons_begin_.push_back(std::ssize(singleton_columns_));
    const double size = magnitude(S.values[singleton.element]);
    smallest_pivot_ = rank_++ == 0 ? size : std::min(smallest_pivot_, size);
  }
}

template <class T>
bool QrFactors<T>::factor(const QrAnalysis& analysis, const QrMatrix<T>& S, double tolerance,
                          const SetupControl& control) {
  constexpr std::int64_t tested = 64;  // fronts between tests for a stop
  analysis_ = &analysis;
  rank_ = 0;
  smallest_pivot_ = largest_dropped_ = 0;
  std::vector<std::int32_t> position(analysis.order.size());
  for (std::size_t k = 0; k < position.size(); ++k)
    position[analysis.order[k]] = static_cast<std::int32_t>(k);
  factor_singletons(S, position);
  fronts_.clear();
  front_rows_.clear();
  front_rows_.reserve(static_cast<std::size_t>(analysis.front_rows));
  factor_.clear();
  factor_.reserve(static_cast<std::size_t>(analysis.factor_entries));
  vectors_.clear();
  vectors_.reserve(static_cast<std::size_t>(analysis.reflection_entries));
  reflections_.clear();
  pivot_rows_.assign(static_cast<std::size_t>(analysis.fronts.n), -1);
  Elimination elimination(*this, S, std::move(position));
  const std::int64_t count = analysis.fronts.supernodes();
  for (std::int64_t s = 0; s < count; ++s) {
    if (s % tested == 0 && control.stops_at(static_cast<double>(s) / static_cast<double>(count)))
      return false;
    elimination.factor(s, tolerance);
  }
  dependent_.clear();
  for (std::size_t k = 0; k < pivot_rows_.size(); ++k) {
    if (pivot_rows_[k] < 0) dependent_.push_back(static_cast<std::int32_t>(analysis.singletons.size() + k));
  }
  return !control.stops_at(1);
}

template <class T>
void QrFactors<T>::multiply_determinant(DeterminantProduct& product) const {
  std::vector<std::int32_t> row_of_column;
  for (std::size_t k = 0; k < analysis_->singletons.size(); ++k) {
    row_of_column.push_back(analysis_->singletons[k].row);
    product.multiply(static_cast<Dot<T>>(singleton_values_[singletons_begin_[k]]));
  }
  for (std::int64_t s = 0; s < std::ssize(fronts_); ++s) {
    const Front& front = fronts_[s];
    for (std::int32_t k = 0; k < front.rank; ++k) {
      row_of_column.push_back(front_rows_[front.rows_begin + k]);
      product.multiply(static_cast<Dot<T>>(factor_[front.factor_begin + k + std::int64_t{k} * front.rank]));
    }
  }
  product.permute(row_of_column);
  product.permute(analysis_->order);
  std::vector<T> factors;
  for (const Reflection<T>& reflection : reflections_) factors.push_back(reflection.tau);
  multiply_by_reflections(product, factors);
}

template <class T>
std::size_t QrFactors<T>::bytes() const {
  return sizeof(T) * (factor_.size() + vectors_.size() + singleton_values_.size()) +
         sizeof(Reflection<T>) * reflections_.size() + sizeof(Front) * fronts_.size() +
         sizeof(std::int32_t) * (front_rows_.size() + pivot_rows_.size() + singleton_columns_.size());
}

#define ECHELON_INSTANTIATE(T) template class QrFactors<T>;
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct

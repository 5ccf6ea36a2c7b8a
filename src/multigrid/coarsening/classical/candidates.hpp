// SPDX-License-Identifier: BSD-3-Clause
/// Sums of weights by coarse column, for one row of a prolongation, and the choice of those that are kept.
#pragma once

#include "backend/rounded.hpp"

#include <echelon/annotate.hpp>

#include <cmath>
#include <cstdint>

namespace echelon::multigrid::classical {

/// Container of few candidates, in the order of their first appearance. Loops have constant bounds, so that a
/// GPU keeps the candidates in registers.
class FewCandidates {
 public:
  static constexpr int capacity = 12;
  /// False if there is no room for another column.
  ECHELON_ANYWHERE bool add(std::int32_t column, double value) {
    bool is_new = true;
    for (int e = 0; e < capacity; ++e) {
      if (e < count_ && columns_[e] == column) {
        sums_[e] += value;
        is_new = false;
      }
    }
    if (!is_new) return true;
    if (count_ == capacity) return false;
    for (int e = 0; e < capacity; ++e) {
      if (e == count_) {
        columns_[e] = column;
        sums_[e] = value;
      }
    }
    ++count_;
    return true;
  }
  ECHELON_ANYWHERE void clear() { count_ = 0; }
  /// visit(column, sum) for each column.
  template <class F>
  ECHELON_ANYWHERE void visit(F& visit) const {
    for (int e = 0; e < capacity; ++e) {
      if (e < count_) visit(columns_[e], sums_[e]);
    }
  }

 private:
  std::int32_t columns_[capacity] = {};
  double sums_[capacity] = {};
  int count_ = 0;
};

/// Container of candidates in local memory, in the order of their first appearance, with linear search.
class LocalCandidates {
 public:
  static constexpr int capacity = 32;
  /// False if there is no room for another column.
  ECHELON_ANYWHERE bool add(std::int32_t column, double value) {
    for (int e = 0; e < count_; ++e) {
      if (columns_[e] == column) {
        sums_[e] += value;
        return true;
      }
    }
    if (count_ == capacity) return false;
    columns_[count_] = column;
    sums_[count_] = value;
    ++count_;
    return true;
  }
  ECHELON_ANYWHERE void clear() { count_ = 0; }
  /// visit(column, sum) for each column.
  template <class F>
  ECHELON_ANYWHERE void visit(F& visit) const {
    for (int e = 0; e < count_; ++e) visit(columns_[e], sums_[e]);
  }

 private:
  std::int32_t columns_[capacity];
  double sums_[capacity];
  int count_ = 0;
};

/// Container of candidates in a hash table with linear probing. The size of the table is a power of two
/// larger than the number of candidates.
class TableCandidates {
 public:
  static constexpr std::int32_t no_column = -1;
  /// `columns` holds no_column everywhere.
  ECHELON_ANYWHERE TableCandidates(std::int64_t size, std::int32_t* columns, double* sums)
      : size_(size), columns_(columns), sums_(sums) {}
  ECHELON_ANYWHERE bool add(std::int32_t column, double value) {
    constexpr std::uint32_t multiplier = 0x9e3779b1U;
    std::int64_t slot = (static_cast<std::uint32_t>(column) * multiplier >> 7U) & (size_ - 1);
    while (columns_[slot] != column && columns_[slot] != no_column) slot = (slot + 1) & (size_ - 1);
    if (columns_[slot] == column) {
      sums_[slot] += value;
    } else {
      columns_[slot] = column;
      sums_[slot] = value;
    }
    return true;
  }
  ECHELON_ANYWHERE void clear() {
    for (std::int64_t slot = 0; slot < size_; ++slot) columns_[slot] = no_column;
  }
  template <class F>
  ECHELON_ANYWHERE void visit(F& visit) const {
    for (std::int64_t slot = 0; slot < size_; ++slot) {
      if (columns_[slot] != no_column) visit(columns_[slot], sums_[slot]);
    }
  }

 private:
  std::int64_t size_;
  std::int32_t* columns_;
  double* sums_;
};

/// Sort key of a candidate: the larger magnitude first, then the smaller column.
struct Preference {
  double magnitude;
  std::int32_t column;
  ECHELON_ANYWHERE bool is_before(const Preference& other) const {
    return magnitude != other.magnitude ? magnitude > other.magnitude : column < other.column;
  }
};

/// Sum and number of the nonzero candidates, and whether all are finite.
struct SumCandidates {
  double sum = 0;
  std::int64_t count = 0;
  bool are_finite = true;
  ECHELON_ANYWHERE void operator()(std::int32_t, double value) {
    if (value == 0) return;
    sum += value;
    ++count;
    are_finite = are_finite && std::isfinite(value);
  }
};

/// The most preferred nonzero candidate after a given one.
struct FindNext {
  Preference last;
  Preference best{0, INT32_MAX};
  double value = 0;
  ECHELON_ANYWHERE void operator()(std::int32_t column, double candidate) {
    const Preference own{std::fabs(candidate), column};
    if (candidate != 0 && last.is_before(own) && own.is_before(best)) {
      best = own;
      value = candidate;
    }
  }
};

/// View of a prolongation under construction, in rows of equal capacity: row r has counts[r] <= width
/// elements, in ascending columns, from r * width on.
template <class T>
struct PaddedView {
  std::int64_t width;
  std::int64_t* counts;
  std::int32_t* columns;
  T* values;
};

/// Factor of a row's candidates and, where it is known without them, their sum: sums over candidates depend
/// on their order, which a thread group does not share with a single thread.
struct RowFactors {
  double scale = 0;
  double sum = 0;
  bool is_sum_known = false;
};

/// Sum of magnitudes of a row above which its weights are not trusted.
inline constexpr double max_row_norm = 10;

/// Factor that keeps the sum of a row of which only some candidates are kept.
ECHELON_ANYWHERE inline double restoring_factor(double sum, double kept, bool is_cut) {
  return is_cut && kept != 0 ? sum / kept : 1;
}

/// Writes the candidates times `factors.scale` to a row: the `width` largest in magnitude, ties by the
/// smaller column, rescaled so that the sum of the row is unchanged. False if the row would be empty or its
/// norm exceeds max_row_norm: its count then stays zero.
template <class T, class C>
ECHELON_ANYWHERE bool write_row(const C& candidates, const RowFactors& factors, const PaddedView<T>& rows,
                                std::int64_t r) {
  const double scale = factors.scale;
  SumCandidates all;
  candidates.visit(all);
  if (all.count == 0 || !all.are_finite || !std::isfinite(scale)) return false;
  std::int32_t* columns = rows.columns + r * rows.width;
  T* values = rows.values + r * rows.width;
  const int count = static_cast<int>(all.count < rows.width ? all.count : rows.width);
  Preference last{HUGE_VAL, -1};
  double kept = 0;
  double norm = 0;
  for (int chosen = 0; chosen < count; ++chosen) {
    FindNext next{last};
    candidates.visit(next);
    last = next.best;
    kept += next.value;
    norm += last.magnitude;
    int place = chosen;
    for (; place > 0 && columns[place - 1] > last.column; --place) {
      columns[place] = columns[place - 1];
      values[place] = values[place - 1];
    }
    columns[place] = last.column;
    values[place] = static_cast<T>(rounded_product(scale, next.value));
  }
  const double restore =
      restoring_factor(factors.is_sum_known ? factors.sum : all.sum, kept, all.count > count);
  if (!(std::fabs(scale * restore) * norm <= max_row_norm)) return false;
  if (restore != 1) {
    for (int e = 0; e < count; ++e) {
      values[e] = static_cast<T>(rounded_product(static_cast<double>(values[e]), restore));
    }
  }
  rows.counts[r] = count;
  return true;
}

}  // namespace echelon::multigrid::classical

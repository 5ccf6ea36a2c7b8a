// SPDX-License-Identifier: BSD-3-Clause
/// Strong elements of a row.
#pragma once

#include "backend/atomic.hpp"
#include "matrix/rows.hpp"

#include <echelon/annotate.hpp>

#include <cmath>
#include <cstdint>

namespace echelon::multigrid::classical {

/// Diagonal element, sum and extremes of a row.
struct RowExtremes {
  double diagonal = 0;
  double sum = 0;
  double least = 0;     ///< of the off-diagonal elements and zero
  double greatest = 0;  ///< likewise

  ECHELON_ANYWHERE void add(bool is_diagonal, double value) {
    sum += value;
    if (is_diagonal) {
      diagonal = value;
    } else {
      least = value < least ? value : least;
      greatest = value > greatest ? value : greatest;
    }
  }
  /// Combines two parts of a row, one of which has the diagonal element.
  friend ECHELON_ANYWHERE RowExtremes combine(const RowExtremes& a, const RowExtremes& b) {
    return {a.diagonal + b.diagonal, a.sum + b.sum, b.least < a.least ? b.least : a.least,
            b.greatest > a.greatest ? b.greatest : a.greatest};
  }
  /// Factor that makes elements with the other sign than the diagonal positive.
  [[nodiscard]] ECHELON_ANYWHERE double sign() const { return diagonal > 0 ? -1 : diagonal < 0 ? 1 : 0; }
  /// Largest such magnitude; 0 if the row depends on no other.
  [[nodiscard]] ECHELON_ANYWHERE double largest(double max_row_sum) const {
    const bool is_dominant = std::fabs(sum) > max_row_sum * std::fabs(diagonal);
    return is_dominant ? 0 : diagonal > 0 ? -least : diagonal < 0 ? greatest : 0;
  }
};

/// Marks the strong elements of a row and counts them for their columns. `count_atomically` is needed if
/// other rows are marked concurrently.
template <class T>
struct MarkStrong {
  SparseRows<T> a;
  double threshold;
  double max_row_sum;
  bool count_atomically;
  std::uint8_t* strong;
  std::uint8_t* is_isolated;
  std::int32_t* influences;

  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    RowExtremes row;
    for (std::int64_t k = a.begin(i); k < a.end(i); ++k) add(i, k, row);
    const double largest = row.largest(max_row_sum);
    bool depends = false;
    for (std::int64_t k = a.begin(i); k < a.end(i); ++k) depends = mark(i, k, row, largest) || depends;
    is_isolated[i] = depends ? 0 : 1;
  }

  /// Adds element k of row i to its extremes.
  ECHELON_ANYWHERE void add(std::int64_t i, std::int64_t k, RowExtremes& row) const {
    row.add(a.column(k) == i, static_cast<double>(a.values[k]));
  }
  /// Marks element k of row i; true if it is strong.
  ECHELON_ANYWHERE bool mark(std::int64_t i, std::int64_t k, const RowExtremes& row, double largest) const {
    const double value = row.sign() * static_cast<double>(a.values[k]);
    const bool is_strong = largest > 0 && a.column(k) != i && value > threshold * largest;
    strong[k] = is_strong ? 1 : 0;
    if (is_strong) count(influences + a.column(k));
    return is_strong;
  }

 private:
  ECHELON_ANYWHERE void count(std::int32_t* target) const {
    if (count_atomically) {
      atomic_add(target, 1);
    } else {
      ++*target;
    }
  }
};

}  // namespace echelon::multigrid::classical

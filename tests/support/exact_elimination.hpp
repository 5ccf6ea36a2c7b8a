// SPDX-License-Identifier: BSD-3-Clause
/// Gauss-Jordan elimination of a panel in extended precision, and a bound on rounding errors relative to it.
#pragma once

#include "support/dense/gauss_jordan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::test {

/// Elimination with the pivots of another elimination, so that both round the same numbers.
///
/// With C = L U, the rows and columns of pivots, a column x of the result has an error of at most
/// 2 r u (|C^-1| |L| |U| + 3 |U^-1| |U|) |x| (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
/// ed., theorem 14.5); each row without a pivot is an equation with an additional unknown.
class ExactElimination {
 public:
  template <class T>
  ExactElimination(const Dense<T>& a, std::vector<std::int64_t> rows, std::vector<std::int64_t> columns)
      : rows_(std::move(rows)),
        columns_(std::move(columns)),
        x_(a.rows(), a.columns()),
        off_(a.rows(), a.columns()),
        L_(a.rows(), steps()),
        U_(steps(), steps()),
        U_inverse_(steps(), steps()) {
    for (std::int64_t j = 0; j < a.columns(); ++j) {
      for (std::int64_t i = 0; i < a.rows(); ++i) x_(i, j) = a(i, j);
    }
    for (std::int64_t j = 0; j < a.columns(); ++j) {
      if (rank_ < steps() && columns_[index(rank_)] == j) {
        eliminate(j);
      } else {
        for (std::int64_t i = rank_; i < x_.rows; ++i) x_(i, j) = 0;
        find_bound(j);
      }
    }
    for (const std::int64_t j : columns_) find_bound(j);
  }

  /// The largest difference as a multiple of the bound.
  template <class T>
  [[nodiscard]] double error(const Dense<T>& computed) const {
    double largest = 0;
    for (std::int64_t j = 0; j < x_.columns; ++j) {
      for (std::int64_t i = 0; i < x_.rows; ++i) {
        const long double difference = std::abs(computed(i, j) - x_(i, j));
        if (difference == 0) continue;
        const auto share = static_cast<double>(difference / (unit<T> * off_(i, j)));
        if (!(share <= largest)) largest = share;
      }
    }
    return largest;
  }

 private:
  struct Matrix {
    Matrix(std::int64_t m, std::int64_t n)
        : rows(m), columns(n), elements(static_cast<std::size_t>(m * n), 0.0L) {}
    long double& operator()(std::int64_t i, std::int64_t j) { return elements[index(i + j * rows)]; }
    long double operator()(std::int64_t i, std::int64_t j) const { return elements[index(i + j * rows)]; }
    std::int64_t rows, columns;
    std::vector<long double> elements;
  };
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] std::int64_t steps() const { return static_cast<std::int64_t>(columns_.size()); }

  void eliminate(std::int64_t j) {
    const std::int64_t k = rank_++;
    const std::int64_t row = rows_[index(k)];
    for (std::int64_t c = 0; c < x_.columns; ++c) std::swap(x_(k, c), x_(row, c));
    for (std::int64_t c = 0; c < k; ++c) std::swap(L_(k, c), L_(row, c));
    const long double pivot = x_(k, j);
    for (std::int64_t i = k; i < x_.rows; ++i) L_(i, k) = x_(i, j) / pivot;
    for (std::int64_t l = k; l < steps(); ++l) U_(k, l) = x_(k, columns_[index(l)]);
    invert_step(k);
    std::vector<long double> g(index(x_.rows));
    for (std::int64_t i = 0; i < x_.rows; ++i) g[index(i)] = (i == k ? 1 : -x_(i, j)) / pivot;
    for (std::int64_t c = 0; c < x_.columns; ++c) {
      const long double w = c == j ? 1 : std::exchange(x_(k, c), 0.0L);
      for (std::int64_t i = 0; i < x_.rows; ++i) {
        x_(i, c) = (c == j ? 0 : x_(i, c)) + g[index(i)] * w;
      }
    }
  }

  /// Column k of U^-1, from the columns before it.
  void invert_step(std::int64_t k) {
    const long double pivot = U_(k, k);
    for (std::int64_t i = 0; i < k; ++i) {
      long double sum = 0;
      for (std::int64_t l = i; l < k; ++l) sum += U_inverse_(i, l) * U_(l, k);
      U_inverse_(i, k) = -sum / pivot;
    }
    U_inverse_(k, k) = 1 / pivot;
  }

  /// The error bound in units of the roundoff, with the pivots of the columns done.
  void find_bound(std::int64_t j) {
    const std::int64_t r = rank_;
    std::vector<long double> ux(index(r), 0.0L);
    std::vector<long double> lux(index(x_.rows), 0.0L);
    for (std::int64_t l = 0; l < r; ++l) {
      for (std::int64_t q = l; q < r; ++q) ux[index(l)] += std::abs(U_(l, q) * x_(q, j));
      for (std::int64_t i = l; i < x_.rows; ++i) lux[index(i)] += std::abs(L_(i, l)) * ux[index(l)];
    }
    for (std::int64_t i = r; i < x_.rows; ++i) lux[index(i)] += std::abs(x_(i, j));
    for (std::int64_t i = 0; i < x_.rows; ++i) {
      long double sum = i < r ? 0 : lux[index(i)] + 3 * std::abs(x_(i, j));
      for (std::int64_t l = 0; l < r; ++l) sum += std::abs(x_(i, columns_[index(l)])) * lux[index(l)];
      for (std::int64_t l = i; l < r; ++l) sum += 3 * std::abs(U_inverse_(i, l)) * ux[index(l)];
      off_(i, j) = 2 * static_cast<long double>(r) * sum;
    }
  }

  std::vector<std::int64_t> rows_, columns_;
  std::int64_t rank_ = 0;
  Matrix x_, off_, L_, U_, U_inverse_;
};

}  // namespace echelon::test

// SPDX-License-Identifier: BSD-3-Clause
/// LU factorisation on the host in steps short enough to be interrupted.
#pragma once

#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"

#include <algorithm>
#include <cstddef>
#include <stop_token>

namespace echelon {

struct BlockedLuResult {
  int zero_pivot = 0;  ///< the first pivot, from 1, that is exactly zero; 0: none
  bool cancelled = false;
};

/// The factorisation in progress of the column-major n-by-n matrix a.
template <class T>
class BlockedLu {
 public:
  BlockedLu(int n, T* a, int* pivots, const std::stop_token& cancel)
      : n_(n), a_(a), pivots_(pivots), cancel_(cancel) {}

  /// Factors columns [first, last) from row `first` down; the columns before have been applied to them.
  /// Splits them in halves, so that most of the work is done by large calls of gemm. False when cancelled.
  bool factor(int first, int last) {
    if (cancel_.stop_requested()) return false;
    if (last - first <= panel) {
      const int zero = lapack::getrf(n_ - first, last - first, at(first, first), n_, pivots_ + first);
      if (zero > 0 && zero_pivot_ == 0) zero_pivot_ = zero + first;
      for (int i = first; i < last; ++i) pivots_[i] += first;
      return true;
    }
    const int middle = first + (last - first + 1) / 2;
    if (!factor(first, middle) || !update(first, middle, last) || !factor(middle, last)) return false;
    lapack::swap_rows(middle - first, at(0, first), n_, middle, last, pivots_);
    return true;
  }
  [[nodiscard]] int zero_pivot() const { return zero_pivot_; }

 private:
  static constexpr int panel = 256;
  /// Flops between two checks of the stop token.
  static constexpr double step_flops = 1e10;

  [[nodiscard]] T* at(int i, int j) const { return a_ + i + static_cast<std::ptrdiff_t>(j) * n_; }

  /// Applies the factored columns [first, middle) to the columns [middle, last).
  bool update(int first, int middle, int last) const {
    const int width = middle - first;
    const int below = n_ - middle;
    const int chunk = std::max(panel, static_cast<int>(step_flops / (2.0 * below * width)));
    for (int j = middle; j < last; j += chunk) {
      if (cancel_.stop_requested()) return false;
      const int columns = std::min(chunk, last - j);
      lapack::swap_rows(columns, at(0, j), n_, first, middle, pivots_);
      blas::trsm(CblasLower, CblasNoTrans, CblasUnit, width, columns, at(first, first), n_, at(first, j), n_);
      blas::gemm(CblasNoTrans, CblasNoTrans, below, columns, width, T{-1}, at(middle, first), n_,
                 at(first, j), n_, T{1}, at(middle, j), n_);
    }
    return true;
  }

  int n_;
  T* a_;
  int* pivots_;
  const std::stop_token& cancel_;
  int zero_pivot_ = 0;
};

/// P A = L U with partial pivoting in place of the column-major n-by-n matrix a, as by LAPACK's getrf, but in
/// steps of at most about 10^10 flops, between which `cancel` is checked. 2/3 n^3 flops.
/// Gustavson, IBM J. Res. Dev. 41 (1997); Toledo, SIAM J. Matrix Anal. Appl. 18 (1997).
template <class T>
[[nodiscard]] BlockedLuResult factor_blocked_lu(int n, T* a, int* pivots, const std::stop_token& cancel) {
  constexpr int direct_size = 1024;  // LAPACK takes less than 0.1 s
  if (cancel.stop_requested()) return {0, true};
  if (n <= direct_size) return {lapack::getrf(n, n, a, n, pivots), false};
  BlockedLu<T> lu(n, a, pivots, cancel);
  const bool complete = lu.factor(0, n);
  return {lu.zero_pivot(), !complete};
}

}  // namespace echelon

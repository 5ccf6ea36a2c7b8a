// SPDX-License-Identifier: BSD-3-Clause
/// LU factorisation on the host by halving the columns, so that most of the work is done by large products.
#pragma once

#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "support/setup_control.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace echelon {

/// The factorisation in progress of a column-major matrix a of `rows` rows and any number of columns;
/// `unit_factor` is the one with ones on the diagonal. `factor_panel(first, last)` factors the columns
/// [first, last) of rows [first, rows), to which the columns before have been applied, exchanging rows of
/// these columns only; it sets pivots[first], ..., pivots[last - 1], which count rows from 1, and returns
/// false to end the factorisation.
template <class T, class FactorPanel>
class RecursiveLu {
 public:
  RecursiveLu(int rows, T* a, int leading, int* pivots, CBLAS_UPLO unit_factor, int panel,
              const SetupControl& control, FactorPanel factor_panel)
      : rows_(rows),
        a_(a),
        leading_(leading),
        pivots_(pivots),
        diagonal_(unit_factor == CblasLower ? CblasUnit : CblasNonUnit),
        panel_(panel),
        control_(control),
        factor_panel_(std::move(factor_panel)) {}

  /// Factors columns [first, last) from row `first` down. Returns false when cancelled, or when factor_panel
  /// did.
  bool factor(int first, int last) {
    if (control_.stops_at(done_share_)) return false;
    if (last - first <= panel_) {
      count_flops(rows_ - first, last - first, last - first);
      return factor_panel_(first, last);
    }
    const int middle = first + (last - first + 1) / 2;
    if (!factor(first, middle) || !update(first, middle, last) || !factor(middle, last)) return false;
    lapack::swap_rows(middle - first, at(0, first), leading_, middle, last, pivots_);
    return true;
  }

  /// Applies the factored columns [first, middle) to the columns [middle, last). Returns false when
  /// cancelled.
  bool update(int first, int middle, int last) {
    const int width = middle - first;
    const int below = rows_ - middle;
    const int chunk = std::max(panel_, static_cast<int>(step_flops / (2.0 * (below + 1) * width)));
    for (int j = middle; j < last; j += chunk) {
      if (control_.stops_at(done_share_)) return false;
      const int columns = std::min(chunk, last - j);
      count_flops(2.0 * below + width, columns, width);
      lapack::swap_rows(columns, at(0, j), leading_, first, middle, pivots_);
      blas::trsm(CblasLower, CblasNoTrans, diagonal_, width, columns, at(first, first), leading_,
                 at(first, j), leading_);
      blas::gemm(CblasNoTrans, CblasNoTrans, below, columns, width, T{-1}, at(middle, first), leading_,
                 at(first, j), leading_, T{1}, at(middle, j), leading_);
    }
    return true;
  }

 private:
  /// Flops between two checks of the stop token.
  static constexpr double step_flops = 1e10;

  /// Adds a step of m n k flops to the share of 2/3 rows^3.
  void count_flops(double m, double n, double k) {
    const double rows = rows_;
    done_share_ += m * n * k / (2.0 / 3 * rows * rows * rows);
  }
  [[nodiscard]] T* at(int i, int j) const { return a_ + i + static_cast<std::ptrdiff_t>(j) * leading_; }

  int rows_;
  T* a_;
  int leading_;
  int* pivots_;
  CBLAS_DIAG diagonal_;  // of L
  int panel_;
  const SetupControl& control_;
  FactorPanel factor_panel_;
  double done_share_ = 0;  // of the flops for a square matrix, with those of the steps that were begun
};

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Cholesky factorisation on the host in steps short enough to be interrupted.
#pragma once

#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"
#include "support/setup_control.hpp"

#include <echelon/matrix/scalar.hpp>

#include <algorithm>
#include <cstddef>

namespace echelon::dense_symmetric {

struct CholeskyEnd {
  int not_positive = 0;  ///< the first pivot, from 1, that is not positive; 0: none
  bool cancelled = false;
};

/// Factors A = L L^H in place of the lower triangle of the column-major n-by-n matrix a. The rows are halved
/// recursively, so that most of the n^3 / 3 flops are done by large products, between which `control` is
/// checked.
template <class T>
class RecursiveCholesky {
 public:
  RecursiveCholesky(int n, T* a, const SetupControl& control) : n_(n), a_(a), control_(control) {}

  [[nodiscard]] CholeskyEnd factor() {
    factor(0, n_);
    return end_;
  }

 private:
  static constexpr int panel = 512;
  /// Flops between two checks of the stop token.
  static constexpr double step_flops = 1e10;

  /// Adds a step of l m n flops to the share of n^3 / 3.
  void count_flops(double l, double m, double n) {
    const double rows = n_;
    done_share_ += l * m * n / (rows * rows * rows / 3);
  }
  [[nodiscard]] T* at(int i, int j) const { return a_ + i + static_cast<std::ptrdiff_t>(j) * n_; }

  /// Factors the diagonal block of rows [first, last). Returns false if the factorisation must end.
  bool factor(int first, int last) {
    end_.cancelled = control_.stops_at(done_share_);
    if (end_.cancelled) return false;
    if (last - first <= panel) {
      count_flops(last - first, last - first, (last - first) / 3.0);
      const int info = lapack::potrf(last - first, at(first, first), n_);
      if (info > 0) end_.not_positive = first + info;
      return info == 0;
    }
    const int middle = first + (last - first) / 2;
    return factor(first, middle) && update(first, middle, last) && factor(middle, last);
  }

  /// Computes L21 = A21 L11^-H and the lower triangle of A22 - L21 L21^H.
  bool update(int first, int middle, int last) {
    const int width = middle - first;
    const int chunk = std::max(panel, static_cast<int>(step_flops / (2.0 * width * (last - middle))));
    for (int i = middle; i < last; i += chunk) {
      end_.cancelled = control_.stops_at(done_share_);
      if (end_.cancelled) return false;
      const int rows = std::min(chunk, last - i);
      count_flops(rows, width, 2.0 * (i - middle) + rows + width);
      blas::trsm_right(CblasLower, CblasConjTrans, CblasNonUnit, rows, width, at(first, first), n_,
                       at(i, first), n_);
      blas::gemm(CblasNoTrans, CblasConjTrans, rows, i - middle, width, T{-1}, at(i, first), n_,
                 at(middle, first), n_, T{1}, at(i, middle), n_);
      blas::herk(CblasLower, rows, width, Real<T>{-1}, at(i, first), n_, Real<T>{1}, at(i, i), n_);
    }
    return true;
  }

  int n_;
  T* a_;
  const SetupControl& control_;
  CholeskyEnd end_ = {};
  double done_share_ = 0;  // of the flops, with those of the steps that were begun
};

}  // namespace echelon::dense_symmetric

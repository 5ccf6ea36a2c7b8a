// SPDX-License-Identifier: BSD-3-Clause
/// Solves with factors by Crout's method, and the assessment of the factors.
#pragma once

#include "dense/crout/growth.hpp"
#include "dense/factorization/host_factorization.hpp"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::crout {

/// A method derives from it and factors in place: P A = L U, where `pivots()[j]` is the row that was
/// exchanged with row j, and U has a unit diagonal.
template <class B, class T>
class CroutFactorization : public HostFactorization<B, T> {
 public:
  [[nodiscard]] std::size_t bytes() const override {
    return HostFactorization<B, T>::bytes() + pivots_.size() * sizeof(std::int64_t);
  }

 protected:
  using HostFactorization<B, T>::HostFactorization;

  /// Factors and appends to the outcome's statistics.
  virtual Outcome factor_in_place() = 0;

  [[nodiscard]] std::vector<std::int64_t>& pivots() { return pivots_; }

 private:
  void clear() final { pivots_.clear(); }

  Outcome factor(int n) final {
    T* const a = this->factors().data();
    pivots_.resize(static_cast<std::size_t>(n));
    const T norm = lapack::norm_one(n, a);
    const T largest = lapack::norm_max(n, a);
    Outcome outcome = factor_in_place();
    const bool zero_pivot = outcome.status == Status::singular;
    if (!outcome.ok() && !zero_pivot) return outcome;
    const double eliminated = largest_eliminated(zero_pivot ? outcome.row.value() + 1 : n);
    if (!zero_pivot) {
      std::vector<Statistic> statistics = std::move(outcome.statistics);
      outcome = assess_condition<T>(this->reciprocal_condition(norm));
      outcome.statistics = std::move(statistics);
    }
    return with_growth<T>(std::move(outcome), eliminated / static_cast<double>(largest), n);
  }

  /// The largest magnitude l_ii u_ij of an element that elimination has left in the upper triangle of the
  /// first columns.
  [[nodiscard]] double largest_eliminated(std::int64_t columns) const {
    const Dense<T>& lu = this->factors();
    Largest largest;
    for (std::int64_t j = 0; j < columns; ++j) {
      for (std::int64_t i = 0; i <= j; ++i) {
        const T element = i < j ? lu(i, i) * lu(i, j) : lu(j, j);
        largest = combine(largest, {std::fabs(static_cast<double>(element))});
      }
    }
    return largest.value;
  }

  void substitute_factors(bool transposed, DenseView<T> X) const final {
    if (!transposed) {
      exchange_rows(X, false);
      solve_triangle(CblasLower, CblasNoTrans, CblasNonUnit, X);
      solve_triangle(CblasUpper, CblasNoTrans, CblasUnit, X);
    } else {
      solve_triangle(CblasUpper, CblasTrans, CblasUnit, X);
      solve_triangle(CblasLower, CblasTrans, CblasNonUnit, X);
      exchange_rows(X, true);
    }
  }

  void solve_triangle(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, DenseView<T> X) const {
    const int n = static_cast<int>(X.rows());
    blas::trsm(part, transpose, diagonal, n, static_cast<int>(X.columns()), this->factors().data(), n,
               X.data(), blas::dimension(X.leading()));
  }

  /// Computes X = P X, or P^T X.
  void exchange_rows(DenseView<T> X, bool backwards) const {
    const auto n = static_cast<std::int64_t>(pivots_.size());
    for (std::int64_t column = 0; column < X.columns(); ++column) {
      T* const x = X.column(column);
      for (std::int64_t step = 0; step < n; ++step) {
        const std::int64_t j = backwards ? n - 1 - step : step;
        std::swap(x[j], x[pivots_[static_cast<std::size_t>(j)]]);
      }
    }
  }

  std::vector<std::int64_t> pivots_;
};

}  // namespace echelon::crout

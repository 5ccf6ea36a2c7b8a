// SPDX-License-Identifier: BSD-3-Clause
/// Solves with factors by Crout's method, and the assessment of the factors.
#pragma once

#include "dense/factorization/packed_factors.hpp"
#include "dense/factorization/qr_after_growth.hpp"
#include "dense/factorization/scaling.hpp"
#include "dense/factorization/zero_diagonal.hpp"
#include "linalg/blas/blas.hpp"
#include "solver/direct/factorization.hpp"
#include "studies/crout/elimination.hpp"
#include "studies/crout/growth.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace echelon::crout {

/// P A = L U, where `pivots()[j]` is the row that was exchanged with row j, and U has a unit diagonal. A
/// variant of the method derives from it and factors in place.
template <class B, class T>
class CroutFactorization {
 public:
  using Scope = blas::Threads;

  void substitute(direct::Operation operation, B& backend, direct::NoSpace& /*space*/, DenseView<T> X) const {
    if (qr_.serves()) return qr_.substitute(backend, operation == direct::Operation::transpose, factors_, X);
    if (operation == direct::Operation::none) {
      exchange_rows(X, false);
      solve_triangle(CblasLower, CblasNoTrans, CblasNonUnit, X);
      solve_triangle(CblasUpper, CblasNoTrans, CblasUnit, X);
    } else {
      solve_triangle(CblasUpper, CblasTrans, CblasUnit, X);
      solve_triangle(CblasLower, CblasTrans, CblasNonUnit, X);
      exchange_rows(X, true);
    }
  }
  /// Factors by QR where growth of elements spoilt the factors.
  direct::Factored conclude(const direct::FactorContext<B, T>& context, Outcome assessed) {
    const bool spoilt = !qr_.serves() && is_spoilt<T>(assessed, growth_, factors_.rows());
    return spoilt ? qr_.factor(context, factors_, growth_, norms_.largest) : std::move(assessed);
  }
  [[nodiscard]] DeterminantProduct determinant(B& /*backend*/) const {
    DeterminantProduct product;
    multiply_by_diagonal(product, factors_);
    if (qr_.serves()) {
      qr_.multiply(product);
    } else {
      count_exchanges(product, pivots_);
    }
    return product;
  }
  [[nodiscard]] MatrixFactors<T> factors(B& backend) const {
    qr_.check_factors();
    MatrixFactors<T> result;
    result.lower = copy_triangle(backend, factors_.view(), {.lower = true, .unit_diagonal = false});
    result.upper = copy_triangle(backend, factors_.view(), {.lower = false, .unit_diagonal = true});
    result.row_permutation = permutation_by_exchanges(factors_.rows(), pivots_);
    return result;
  }
  [[nodiscard]] double norm() const { return norms_.one; }
  [[nodiscard]] std::size_t bytes() const {
    return factors_.bytes() + pivots_.size() * sizeof(std::int64_t) + qr_.bytes();
  }

 protected:
  explicit CroutFactorization(bool equilibrate) : equilibrate_(equilibrate) {}

  /// Factors the scaled A by `factor_in_place()`, which returns an Outcome with statistics.
  template <class FactorInPlace>
  Outcome factor_scaled(const direct::FactorContext<B, T>& context, const FactorInPlace& factor_in_place) {
    pivots_.clear();
    qr_.clear();
    replaced_ = {};
    if (Outcome scaled = lu::copy_scaled(context, equilibrate_, factors_, norms_); !scaled.ok())
      return scaled;
    const std::int64_t n = factors_.rows();
    pivots_.resize(static_cast<std::size_t>(n));
    Outcome outcome = factor_in_place();
    if (!outcome.ok()) return outcome;
    growth_ = largest_eliminated() / norms_.largest;
    if (replaced_.replaced > 0) {
      Outcome singular = lu::replaced_pivots_outcome(context.A, replaced_.first_replaced, replaced_.replaced);
      singular.statistics = std::move(outcome.statistics);
      outcome = std::move(singular);
    }
    if (is_spoilt<T>(outcome, growth_, n)) return qr_.factor(context, factors_, growth_, norms_.largest);
    outcome.statistics.push_back({"pivot_growth", growth_});
    return outcome;
  }

  [[nodiscard]] Dense<T>& packed() { return factors_; }
  [[nodiscard]] std::vector<std::int64_t>& pivots() { return pivots_; }
  /// Value in place of a pivot that is exactly zero.
  [[nodiscard]] T zero_pivot() const { return lu::zero_pivot_replacement<T>(norms_.largest); }
  /// Adds the replaced pivots of columns from `first` on.
  void add_replaced(const EliminationResult& section, std::int64_t first) {
    if (replaced_.replaced == 0) replaced_.first_replaced = first + section.first_replaced;
    replaced_.replaced += section.replaced;
  }

 private:
  /// The largest magnitude l_ii u_ij of an element that elimination has left in the upper triangle.
  [[nodiscard]] double largest_eliminated() const {
    const Dense<T>& lu = factors_;
    Largest largest;
    for (std::int64_t j = 0; j < lu.columns(); ++j) {
      for (std::int64_t i = 0; i <= j; ++i) {
        const T element = i < j ? lu(i, i) * lu(i, j) : lu(j, j);
        largest = combine(largest, {std::fabs(static_cast<double>(element))});
      }
    }
    return largest.value;
  }

  void solve_triangle(CBLAS_UPLO part, CBLAS_TRANSPOSE transpose, CBLAS_DIAG diagonal, DenseView<T> X) const {
    const int n = static_cast<int>(X.rows());
    blas::trsm(part, transpose, diagonal, n, static_cast<int>(X.columns()), factors_.data(), n, X.data(),
               blas::dimension(X.leading()));
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

  bool equilibrate_;
  Dense<T> factors_;
  lu::ScaledNorms norms_;
  std::vector<std::int64_t> pivots_;
  lu::QrAfterGrowth<B, T> qr_;
  double growth_ = 0;           // of elements in the factorisation
  EliminationResult replaced_;  // pivots that were exactly zero
};

}  // namespace echelon::crout

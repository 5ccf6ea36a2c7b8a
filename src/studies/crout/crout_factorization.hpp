// SPDX-License-Identifier: BSD-3-Clause
/// Solves with factors by Crout's method, and the assessment of the factors.
#pragma once

#include "dense/factorization/packed_factors.hpp"
#include "dense/factorization/qr_after_growth.hpp"
#include "dense/factorization/scaling.hpp"
#include "dense/factorization/substitution.hpp"
#include "dense/factorization/zero_diagonal.hpp"
#include "linalg/blas/threads.hpp"
#include "solver/direct/factorization.hpp"
#include "studies/crout/elimination.hpp"
#include "studies/crout/growth.hpp"
#include "studies/crout/triangle.hpp"

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
      exchange_rows(backend, X, false);
      solve_triangle<T>(backend, factors_.view(), lower, false, X);
      solve_triangle<T>(backend, factors_.view(), upper, false, X);
    } else {
      solve_triangle<T>(backend, factors_.view(), upper, true, X);
      solve_triangle<T>(backend, factors_.view(), lower, true, X);
      exchange_rows(backend, X, true);
    }
  }
  /// Factors by QR where growth of elements spoilt the factors.
  direct::Factored conclude(const direct::FactorContext<B, T>& context, Outcome assessed) {
    const bool spoilt = !qr_.serves() && is_spoilt<T>(assessed, growth_, factors_.rows());
    return spoilt ? qr_.factor(context, factors_, growth_, norms_.largest) : std::move(assessed);
  }
  [[nodiscard]] DeterminantProduct determinant(B& backend) const {
    DeterminantProduct product;
    for (const double pivot : diagonal_on_host(backend, factors_)) product.multiply(pivot);
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
    result.lower = triangle_on_host(backend, factors_.view(), lower);
    result.upper = triangle_on_host(backend, factors_.view(), upper);
    result.row_permutation = permutation_by_exchanges(factors_.rows(), pivots_);
    return result;
  }
  [[nodiscard]] double norm() const { return norms_.one; }
  [[nodiscard]] std::size_t bytes() const { return factors_.bytes() + 2 * exchanges_.bytes() + qr_.bytes(); }

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
    exchanges_ = Array<std::int64_t>(context.backend.device(), std::span<const std::int64_t>(pivots_));
    growth_ = largest_eliminated(context.backend) / norms_.largest;
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
  static constexpr PackedTriangle lower{.lower = true, .unit_diagonal = false};
  static constexpr PackedTriangle upper{.lower = false, .unit_diagonal = true};

  /// The largest magnitude l_ii u_ij of an element that elimination has left in the upper triangle.
  [[nodiscard]] double largest_eliminated(B& backend) const {
    Array<Largest> largest(backend.device(), 1);
    backend.reduce(factors_.columns(), LargestEliminated<T>{{factors_.view()}},
                   Store<Largest>{largest.data()});
    return backend.read(largest.data()).value;
  }

  /// Computes X = P X, or P^T X.
  void exchange_rows(B& backend, DenseView<T> X, bool backwards) const {
    backend.for_each(X.columns(), lu::ApplyRowExchanges<T>{X.data(), X.leading(), exchanges_.data(), 0,
                                                           factors_.rows(), backwards});
  }

  bool equilibrate_;
  Dense<T> factors_;
  lu::ScaledNorms norms_;
  std::vector<std::int64_t> pivots_;  // row that was exchanged with row j
  Array<std::int64_t> exchanges_;     // the same in the backend's memory
  lu::QrAfterGrowth<B, T> qr_;
  double growth_ = 0;           // of elements in the factorisation
  EliminationResult replaced_;  // pivots that were exactly zero
};

}  // namespace echelon::crout

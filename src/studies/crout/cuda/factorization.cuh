// SPDX-License-Identifier: BSD-3-Clause
/// Common part of Crout's methods on a GPU: scaling, the assessment of the factors, and substitution.
#pragma once

#include "backend/store.hpp"
#include "dense/factorization/magnitudes.cuh"
#include "dense/factorization/qr_after_growth.hpp"
#include "dense/factorization/scaling.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/direct/factorization.hpp"
#include "solver/factor_status.hpp"
#include "studies/crout/cuda/trsm.cuh"
#include "studies/crout/growth.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace echelon::crout {

namespace cuda_detail {

/// Copies to(i, j) = from(p, j) for p = permutation[i].
template <class T>
struct GatherRows {
  DenseView<const T> from;
  const std::int64_t* permutation;
  DenseView<T> to;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % from.rows();
    const std::int64_t j = e / from.rows();
    to.data()[j * to.leading() + i] = from.data()[j * from.leading() + permutation[i]];
  }
};

/// Copies to(permutation[i], j) = from(i, j).
template <class T>
struct ScatterRows {
  DenseView<const T> from;
  const std::int64_t* permutation;
  DenseView<T> to;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % from.rows();
    const std::int64_t j = e / from.rows();
    to.data()[j * to.leading() + permutation[i]] = from.data()[j * from.leading() + i];
  }
};

}  // namespace cuda_detail

/// P A = L U, where U has a unit diagonal. A variant of the method derives from it and factors in place.
template <class B, class T>
class CudaFactorization {
 public:
  /// Creates the handle of cuBLAS, so that no solve creates it.
  [[nodiscard]] direct::NoSpace make_workspace(B& backend) const {
    backend.blas();
    return {};
  }

  /// Computes X = S^-1 X, or S^-T X, for the scaled matrix S. Queued.
  void substitute(direct::Operation operation, B& backend, direct::NoSpace& /*space*/, DenseView<T> X) const {
    if (qr_.serves()) return qr_.substitute(backend, operation == direct::Operation::transpose, factors_, X);
    const std::int64_t elements = X.rows() * X.columns();
    const DenseView<T> permuted(
        static_cast<T*>(backend.scratch(static_cast<std::size_t>(elements) * sizeof(T))), X.rows(),
        X.columns(), X.rows(), X.device());
    if (operation == direct::Operation::none) {
      backend.for_each(elements, cuda_detail::GatherRows<T>{X, permutation_.data(), permuted});
      copy(backend, permuted, X);
      solve_triangle(backend, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, X);
      solve_triangle(backend, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_N, X);
    } else {
      solve_triangle(backend, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, X);
      solve_triangle(backend, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T, X);
      copy(backend, X, permuted);
      backend.for_each(elements, cuda_detail::ScatterRows<T>{permuted, permutation_.data(), X});
    }
  }
  /// Factors by QR where growth of elements spoilt the factors.
  direct::Factored conclude(const direct::FactorContext<B, T>& context, Outcome assessed) {
    const bool spoilt = !qr_.serves() && is_spoilt<T>(assessed, growth_, factors_.rows());
    return spoilt ? qr_.factor(context, factors_, growth_, norms_.largest) : std::move(assessed);
  }
  [[nodiscard]] double norm() const { return norms_.one; }
  [[nodiscard]] std::size_t bytes() const { return factors_.bytes() + permutation_.bytes() + qr_.bytes(); }

 protected:
  explicit CudaFactorization(bool equilibrate) : equilibrate_(equilibrate) {}

  /// Factors the scaled A by `factor_in_place(pivots)`, where pivots[j] is the row that was exchanged with
  /// row j. `largest_eliminated(columns)` returns the largest magnitude that elimination has left in the
  /// upper triangle of the first columns, which are those before a pivot that is zero, and its own.
  template <class FactorInPlace, class LargestEliminated>
  Outcome factor_scaled(const direct::FactorContext<B, T>& context, const FactorInPlace& factor_in_place,
                        const LargestEliminated& largest_eliminated) {
    qr_.clear();
    if (Outcome scaled = lu::copy_scaled(context, equilibrate_, factors_, norms_); !scaled.ok())
      return scaled;
    const std::int64_t n = factors_.rows();
    Array<std::int64_t> pivots(context.backend.device(), n);
    Outcome outcome = factor_in_place(pivots.data());
    const bool zero_pivot = outcome.status == Status::singular;
    if (!outcome.ok() && !zero_pivot) return outcome;
    growth_ = largest_eliminated(zero_pivot ? outcome.row.value() + 1 : n) / norms_.largest;
    if (is_spoilt<T>(outcome, growth_, n)) return qr_.factor(context, factors_, growth_, norms_.largest);
    if (!zero_pivot) keep_permutation(pivots);
    outcome.statistics.push_back({"pivot_growth", growth_});
    return outcome;
  }

  [[nodiscard]] double largest_eliminated(B& backend, std::int64_t columns) const {
    const Device& device = backend.device();
    Array<double> of_columns(device, columns);
    magnitudes::for_columns<Largest>(device, columns, EliminatedMagnitude<T>{factors_.view()},
                                     of_columns.data());
    Array<Largest> largest(device, 1);
    backend.reduce(columns, LargestMagnitude<const double*>{of_columns.data()},
                   Store<Largest>{largest.data()});
    return backend.read(largest.data()).value;
  }

  [[nodiscard]] Dense<T>& factors() { return factors_; }
  [[nodiscard]] const Dense<T>& factors() const { return factors_; }

 private:
  static void copy(B& backend, DenseView<const T> from, DenseView<T> to) {
    for (std::int64_t j = 0; j < from.columns(); ++j) backend.copy(from.rows(), from.column(j), to.column(j));
  }

  void keep_permutation(const Array<std::int64_t>& pivots) {
    const Array<std::int64_t> exchanges = pivots.to(Device());
    Array<std::int64_t> order(Device(), pivots.size());
    for (std::int64_t i = 0; i < order.size(); ++i) order[i] = i;
    for (std::int64_t j = 0; j < order.size(); ++j) std::swap(order[j], order[exchanges[j]]);
    permutation_ = order.to(pivots.device());
  }

  void solve_triangle(B& backend, cublasFillMode_t part, cublasOperation_t form, DenseView<T> X) const {
    const CurrentDevice current(backend.device().id());
    const cublasDiagType_t diagonal =
        part == CUBLAS_FILL_MODE_LOWER ? CUBLAS_DIAG_NON_UNIT : CUBLAS_DIAG_UNIT;
    check(trsm(backend.blas(), part, form, diagonal, X.rows(), X.columns(), factors_.data(),
               factors_.leading(), X.data(), X.leading()));
  }

  bool equilibrate_;
  Dense<T> factors_;
  lu::ScaledNorms norms_;
  Array<std::int64_t> permutation_;  // row i of P A is row permutation[i] of A
  lu::QrAfterGrowth<B, T> qr_;
  double growth_ = 0;  // of elements in the factorisation
};

}  // namespace echelon::crout

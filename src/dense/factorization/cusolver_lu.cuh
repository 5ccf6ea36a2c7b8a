// SPDX-License-Identifier: BSD-3-Clause
/// Factorisation of a dense matrix on a GPU by cuSOLVER: the method cusolver-lu, and lu for complex matrices.
#pragma once

#include "backend/store.hpp"
#include "dense/factorization/cusolver.cuh"
#include "dense/factorization/magnitudes.cuh"
#include "dense/factorization/packed_factors.hpp"
#include "dense/factorization/scaling.hpp"
#include "dense/factorization/zero_diagonal.hpp"
#include "linalg/vector/functors.hpp"
#include "solver/direct/factorization.hpp"
#include "solver/factor_status.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/methods/dense/cusolver_lu.hpp>
#include <echelon/methods/dense/lu.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace echelon {

/// P R A C = L U for the scales R and C of equilibration. Real A whose elements grow too much are factored by
/// QR; complex ones are not: the growth is reported, and what it does to x shows in the residual.
template <class B, class T>
class CusolverFactorization {
  using Operation = direct::Operation;

  /// A thread's handle.
  struct Space {
    explicit Space(const Device& device) : cusolver(device) {}
    [[nodiscard]] std::size_t bytes() const { return q_workspace.bytes(); }
    Cusolver cusolver;
    Array<T> q_workspace;  // for QR factors
  };

 public:
  CusolverFactorization(const Device& device, const CusolverLuOptions&) : device_(device) {}
  CusolverFactorization(const Device& device, const LuOptions& options)
      : device_(device), equilibrates_(options.equilibrate) {}

  Outcome factor(const direct::FactorContext<B, T>& context) {
    tau_ = Array<T>();
    if (Outcome scaled = lu::copy_scaled(context, equilibrates_, factors_, norms_); !scaled.ok())
      return scaled;
    const std::int64_t n = factors_.rows();
    pivots_ = Array<std::int64_t>(device_, n);
    if (!cusolver_) cusolver_.emplace(device_);
    if (context.control.stop_requested()) return cancelled_factorization();
    const int zero = cusolver_->factor(context.backend, n, factors_.data(), pivots_.data());
    if (context.control.stop_requested()) return cancelled_factorization();
    const double growth = largest_of_upper_triangle(context.backend) / norms_.largest;
    if constexpr (!is_complex<T>) {
      if (!(growth <= acceptable_growth<T>(n))) return factor_qr(context, growth);
    }
    Outcome outcome;
    if (zero > 0)
      outcome = lu::replace_zero_pivots(context.backend, context.A, factors_, zero - 1, norms_.largest);
    outcome.statistics = {{"factorization", "lu"}, {"pivot_growth", growth}};
    return outcome;
  }

  [[nodiscard]] Space make_workspace(B& /*backend*/) const {
    Space space(device_);
    if constexpr (!is_complex<T>) {
      if (tau_.size() > 0) {
        space.q_workspace =
            Array<T>(device_, space.cusolver.template q_workspace<T>(factors_.view(), tau_.data()));
      }
    }
    return space;
  }

  void substitute(Operation operation, [[maybe_unused]] B& backend, Space& space, DenseView<T> X) const {
    const bool transposed = operation == Operation::transpose;
    if constexpr (!is_complex<T>) {
      if (tau_.size() > 0) {
        return space.cusolver.substitute_qr(backend, transposed, DenseView<const T>(factors_.view()),
                                            tau_.data(), X, space.q_workspace);
      }
    }
    space.cusolver.substitute(transposed, factors_, pivots_, X);
  }

  /// Waits for cuSOLVER's status.
  void check(B& backend, Space& space) const { space.cusolver.status(backend); }

  [[nodiscard]] DeterminantProduct determinant(B& backend) const {
    DeterminantProduct product;
    multiply_by_diagonal(product, triangle_on_host(backend, factors_.view(), upper));
    if (tau_.size() == 0) {
      count_exchanges(product, pivots_.to_vector(), 1);
    } else {
      multiply_by_reflections(product, tau_.to_vector());
    }
    return product;
  }
  [[nodiscard]] MatrixFactors<T> factors(B& backend) const {
    if (tau_.size() > 0) throw Error("there are no L and U of A, which was factored by QR after growth");
    MatrixFactors<T> result;
    result.lower = triangle_on_host(backend, factors_.view(), {.lower = true, .unit_diagonal = true});
    result.upper = triangle_on_host(backend, factors_.view(), upper);
    result.row_permutation = permutation_by_exchanges(factors_.rows(), pivots_.to_vector(), 1);
    return result;
  }
  [[nodiscard]] double norm() const { return norms_.one; }
  [[nodiscard]] std::size_t bytes() const { return factors_.bytes() + pivots_.bytes() + tau_.bytes(); }

 private:
  static constexpr PackedTriangle upper{.lower = false, .unit_diagonal = false};

  [[nodiscard]] double largest_of_upper_triangle(B& backend) const {
    const std::int64_t n = factors_.rows();
    Array<double> maxima(device_, n);
    Array<Largest> largest(device_, 1);
    magnitudes::for_columns<Largest>(
        device_, n, magnitudes::LargestMatrixMagnitude<T>{n, factors_.data(), true}, maxima.data());
    backend.reduce(n, LargestMagnitude<const double*>{maxima.data()}, Store<Largest>{largest.data()});
    return backend.read(largest.data()).value;
  }

  /// Factors A = Q R, which is backward stable for every A, at twice the flops of LU.
  Outcome factor_qr(const direct::FactorContext<B, T>& context, double growth) {
    const std::int64_t n = factors_.rows();
    lu::restore_scaled(context, factors_);
    tau_ = Array<T>(device_, n);
    cusolver_->factor_qr(context.backend, n, n, factors_.data(), tau_.data());
    if (const std::int64_t zero = lu::first_zero_on_diagonal(context.backend, factors_); zero >= 0)
      return zero_pivot(zero);
    Outcome outcome;
    outcome.warnings.push_back(growth_warning(growth));
    outcome.statistics = {{"factorization", "qr"}, {"pivot_growth", growth}};
    return outcome;
  }

  Device device_;
  bool equilibrates_ = true;
  std::optional<Cusolver> cusolver_;  // of set-ups
  Dense<T> factors_;                  // of LU, or of QR
  lu::ScaledNorms norms_;
  Array<std::int64_t> pivots_;
  Array<T> tau_;  // of QR's reflections; empty: LU
};

}  // namespace echelon

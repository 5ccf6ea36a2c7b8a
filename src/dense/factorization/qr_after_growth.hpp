// SPDX-License-Identifier: BSD-3-Clause
/// QR in place of an LU whose elements grew too much.
#pragma once

#include "dense/factorization/packed_factors.hpp"
#include "dense/factorization/qr.hpp"
#include "dense/factorization/scaling.hpp"
#include "dense/factorization/zero_diagonal.hpp"
#include "solver/direct/factorization.hpp"
#include "solver/factor_status.hpp"

#include <echelon/array.hpp>
#include <echelon/error.hpp>

#include <cstddef>
#include <cstdint>

namespace echelon::lu {

/// The reflections of A = Q R, whose vectors and R are in the memory of the factors of LU. Empty as long as
/// LU serves.
template <class B, class T>
class QrAfterGrowth {
 public:
  void clear() { tau_ = Array<T>(); }
  [[nodiscard]] bool serves() const { return tau_.size() > 0; }
  [[nodiscard]] std::size_t bytes() const { return tau_.bytes(); }

  /// Factors the scaled A again, which is backward stable for every A, at twice the flops of LU, after
  /// elements grew by `growth`. `largest`: magnitude of an element of the scaled A. The substitution of the
  /// context has to be the one below from here on.
  Outcome factor(const direct::FactorContext<B, T>& context, Dense<T>& factors, double growth,
                 double largest) {
    restore_scaled(context, factors);
    tau_ = Array<T>(context.backend.device(), factors.rows());
    if (!factor_qr<T>(context.backend, factors.view(), tau_.data(), context.control))
      return cancelled_factorization();
    const std::int64_t zero = first_zero_on_diagonal(context.backend, factors);
    Outcome outcome = zero >= 0 ? replace_zero_pivots(context.backend, context.A, factors, zero, largest)
                                : assess_condition<T>(context.reciprocal_condition());
    outcome.warnings.push_back(growth_warning(growth));
    outcome.statistics = {{"factorization", "qr"}, {"pivot_growth", growth}};
    return outcome;
  }

  /// Computes X = S^-1 X, or S^-T X, for the scaled matrix S. Queued.
  void substitute(B& backend, bool transposed, const Dense<T>& factors, DenseView<T> X) const {
    substitute_qr<T>(backend, transposed, factors.view(), tau_.data(), X);
  }
  /// Multiplies by the determinant of Q.
  void multiply(DeterminantProduct& product) const { multiply_by_reflections(product, tau_.to_vector()); }
  /// Throws if there are no L and U.
  void check_factors() const {
    if (serves()) throw Error("there are no L and U of A, which was factored by QR after growth");
  }

 private:
  Array<T> tau_;  // of the reflections
};

}  // namespace echelon::lu

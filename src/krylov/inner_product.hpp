// SPDX-License-Identifier: BSD-3-Clause
/// Inner products of the recurrences for symmetric operators.
#pragma once

#include "solver/iteration/state.hpp"
#include "support/scalar.hpp"

#include <echelon/annotate.hpp>

#include <cmath>
#include <complex>
#include <cstdint>

namespace echelon::krylov {

enum class InnerProduct : std::int32_t {
  sesquilinear,  ///< (x, y) = x^H y: of Hermitian positive definite operators
  bilinear,      ///< (x, y) = x^T y: of complex symmetric operators
};

/// x_i y_i or its counterpart with conj(x_i), a term of (x, y).
template <class T>
ECHELON_ANYWHERE Dot<T> term([[maybe_unused]] InnerProduct product, T x, T y) {
  if constexpr (is_complex<T>) {
    if (product == InnerProduct::bilinear) return static_cast<Dot<T>>(x) * static_cast<Dot<T>>(y);
  }
  return conj(static_cast<Dot<T>>(x)) * static_cast<Dot<T>>(y);
}

/// Phase after the computation of a scalar that is positive for symmetric positive definite operators.
ECHELON_ANYWHERE inline Phase phase_of(double must_be_positive) {
  if (must_be_positive > 0) return Phase::running;
  return must_be_positive <= 0 ? Phase::not_spd : Phase::diverged;  // NaN
}
/// An imaginary part below a thousandth of the real one counts as rounding errors of Hermitian operators: the
/// residual shows what it does to x.
ECHELON_ANYWHERE inline Phase phase_of(std::complex<double> must_be_positive) {
  const bool is_real = !(std::fabs(must_be_positive.imag()) > 1e-3 * std::fabs(must_be_positive.real()));
  return phase_of(is_real ? must_be_positive.real() : 0);
}

/// Phase after the computation of (x, S x) for an operator S: a bilinear one has to differ from zero only.
template <class S>
ECHELON_ANYWHERE Phase phase_of(InnerProduct product, S value) {
  if (product == InnerProduct::sesquilinear) return phase_of(value);
  if (value == S{0}) return Phase::breakdown;
  return value == value ? Phase::running : Phase::diverged;  // NaN
}

}  // namespace echelon::krylov

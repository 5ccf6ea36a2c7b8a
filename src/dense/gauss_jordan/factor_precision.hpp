// SPDX-License-Identifier: BSD-3-Clause
/// The option factor_precision: what it asks of a backend, and what the report says about it.
#pragma once

#include "dense/mixed_precision/products.hpp"
#include "linalg/blas/float_products.hpp"

#include <echelon/error.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/methods/dense/gauss_jordan.hpp>
#include <echelon/report.hpp>

#include <optional>
#include <string>
#include <type_traits>

namespace echelon {

/// The reason why the working precision is used for matrices that are not square.
inline constexpr const char* not_square = "A is not square";

/// Throws BadOption for a complex T and a precision other than the working one.
template <class T>
void check_precision(const GaussJordanOptions& options) {
  if (is_complex<T> && options.factor_precision != Precision::working)
    throw BadOption("factor_precision",
                    "complex matrices are eliminated in their own precision: leave factor_precision out");
}

/// The products of the requested precision if that is lower than T.
template <class B, class T>
std::optional<FloatProducts> requested_products(const GaussJordanOptions& options) {
  const Precision requested = options.factor_precision;
  const FloatProducts products = has_float_products<B> ? float_products(requested) : FloatProducts::in_float;
  const bool lower = std::is_same_v<T, double> || products != FloatProducts::in_float;
  if (requested == Precision::working || !lower) return std::nullopt;
  return products;
}

/// Entry of the report, if a precision other than the working one was requested. `why`: the reason why the
/// requested one was not used; empty if it was.
template <class B, class T>
std::optional<FactorPrecision> report_factor_precision(const GaussJordanOptions& options,
                                                       const std::string& why) {
  const Precision requested = options.factor_precision;
  if (requested == Precision::working) return std::nullopt;
  const std::optional<FloatProducts> products = requested_products<B, T>(options);
  if (!products) return FactorPrecision{requested, Precision::working, "float is the working precision"};
  if (!why.empty()) return FactorPrecision{requested, Precision::working, why};
  const Precision used = *products == FloatProducts::in_float ? Precision::single : requested;
  return FactorPrecision{requested, used,
                         used == requested ? "" : "the host has no arithmetic in TF32 and bfloat16"};
}

}  // namespace echelon

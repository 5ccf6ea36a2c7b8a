// SPDX-License-Identifier: BSD-3-Clause
/// Sums of products in about twice the precision of double.
#pragma once

#include "backend/rounded.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cmath>
#include <complex>
#include <cstdint>

namespace echelon {

/// The rounding error of `sum` = a + b (Knuth), exact unless the sum overflows.
ECHELON_ANYWHERE inline double error_of_sum(double a, double b, double sum) {
  const double part = rounded_sum(sum, -a);
  return rounded_sum(rounded_sum(a, -rounded_sum(sum, -part)), rounded_sum(b, -part));
}

/// An unevaluated sum high + low, as in the dot product of Ogita, Rump and Oishi: `high` is the sum in
/// double, and `low` that of its rounding errors, which are exact numbers, and of small terms. The rounding
/// errors of `low` are at most gamma_k times the sum of the magnitudes of its k terms, whatever the order. T.
/// Ogita, S. Rump, S. Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005).
struct DoubledSum {
  double high = 0;
  double low = 0;
  double magnitude = 0;  ///< sum of the magnitudes of the terms of `low`

  ECHELON_ANYWHERE void add_to_low(double term) {
    low = rounded_sum(low, term);
    magnitude = rounded_sum(magnitude, std::abs(term));
  }
  ECHELON_ANYWHERE void add(double term) {
    const double sum = rounded_sum(high, term);
    add_to_low(error_of_sum(high, term, sum));
    high = sum;
  }
  ECHELON_ANYWHERE void add_product(double a, double b) {
    const double product = rounded_product(a, b);
    add_to_low(std::fma(a, b, -product));
    add(product);
  }

  friend ECHELON_ANYWHERE DoubledSum combine(DoubledSum a, DoubledSum b) {
    a.add(b.high);
    a.low = rounded_sum(a.low, b.low);
    a.magnitude = rounded_sum(a.magnitude, b.magnitude);
    return a;
  }

  [[nodiscard]] ECHELON_ANYWHERE double value() const { return rounded_sum(high, low); }
  /// The value of a sum of a number and `products` products, or a bound on its rounding error where that is
  /// larger: nothing is then known of the value but that it is at most twice the bound.
  [[nodiscard]] ECHELON_ANYWHERE double value_or_error(std::int64_t products) const {
    const double error = static_cast<double>(2 * products + 1) * 0x1p-52 * magnitude;
    return std::abs(value()) < error ? error : value();
  }
};

/// DoubledSum of each part of complex numbers.
class ComplexDoubledSum {
 public:
  ComplexDoubledSum() = default;
  explicit ECHELON_ANYWHERE ComplexDoubledSum(std::complex<double> first)
      : real_{first.real()}, imaginary_{first.imag()} {}

  ECHELON_ANYWHERE void add(std::complex<double> term) {
    real_.add(term.real());
    imaginary_.add(term.imag());
  }
  ECHELON_ANYWHERE void add_product(std::complex<double> a, std::complex<double> b) {
    real_.add_product(a.real(), b.real());
    real_.add_product(-a.imag(), b.imag());
    imaginary_.add_product(a.real(), b.imag());
    imaginary_.add_product(a.imag(), b.real());
  }
  friend ECHELON_ANYWHERE ComplexDoubledSum combine(ComplexDoubledSum a, const ComplexDoubledSum& b) {
    a.real_ = combine(a.real_, b.real_);
    a.imaginary_ = combine(a.imaginary_, b.imaginary_);
    return a;
  }
  [[nodiscard]] ECHELON_ANYWHERE std::complex<double> value() const {
    return {real_.value(), imaginary_.value()};
  }
  [[nodiscard]] ECHELON_ANYWHERE std::complex<double> value_or_error(std::int64_t products) const {
    return {real_.value_or_error(2 * products), imaginary_.value_or_error(2 * products)};
  }

 private:
  DoubledSum real_, imaginary_;
};

/// Sum of products of numbers of T in about twice the precision of double.
template <class T>
using DoubledSumOf = std::conditional_t<is_complex<T>, ComplexDoubledSum, DoubledSum>;

}  // namespace echelon

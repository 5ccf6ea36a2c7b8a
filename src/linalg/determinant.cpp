// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/linalg/determinant.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

namespace echelon {

namespace {

/// 2^exponent x.
double scaled(double x, std::int64_t exponent) {
  constexpr std::int64_t beyond = 1 << 20;
  return std::ldexp(x, static_cast<int>(std::clamp(exponent, -beyond, beyond)));
}

}  // namespace

double Determinant::value() const {
  return scaled(sign * mantissa, exponent);
}

std::complex<double> Determinant::complex_value() const {
  const double size = sign * mantissa;
  return {scaled(size * phase.real(), exponent), scaled(size * phase.imag(), exponent)};
}

double Determinant::log10() const {
  return std::log10(mantissa) + static_cast<double>(exponent) * std::log10(2.0);
}

double Determinant::log_abs() const {
  return std::log(mantissa) + static_cast<double>(exponent) * std::log(2.0);
}

}  // namespace echelon

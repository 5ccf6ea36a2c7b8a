// SPDX-License-Identifier: BSD-3-Clause
#include <echelon/linalg/determinant.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace echelon {

double Determinant::value() const {
  constexpr std::int64_t beyond = 1 << 20;
  const auto power = static_cast<int>(std::clamp(exponent, -beyond, beyond));
  return sign * std::ldexp(mantissa, power);
}

double Determinant::log10() const {
  return std::log10(mantissa) + static_cast<double>(exponent) * std::log10(2.0);
}

double Determinant::log_abs() const {
  return std::log(mantissa) + static_cast<double>(exponent) * std::log(2.0);
}

}  // namespace echelon

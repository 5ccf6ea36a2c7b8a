// SPDX-License-Identifier: BSD-3-Clause
/// Upper and lower bounds of exact results, from operations that round to nearest: an exact result lies
/// between the two neighbours of the rounded one. This holds for overflow and underflow as well.
#pragma once

#include "linalg/doubled_sum.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon::certification {

inline double next_up(double value) {
  return std::nextafter(value, std::numeric_limits<double>::infinity());
}
inline double next_down(double value) {
  return std::nextafter(value, -std::numeric_limits<double>::infinity());
}

inline double add_up(double a, double b) {
  return next_up(a + b);
}
inline double multiply_up(double a, double b) {
  return next_up(a * b);
}
inline double divide_up(double a, double b) {
  return next_up(a / b);
}
inline double subtract_down(double a, double b) {
  return next_down(a - b);
}
inline double multiply_down(double a, double b) {
  return next_down(a * b);
}

/// Bound of the relative error of k roundings, k u / (1 - k u), for k u < 1.
inline double gamma_up(double k) {
  const double share = multiply_up(k, std::numeric_limits<double>::epsilon() / 2);
  return divide_up(share, subtract_down(1, share));
}

/// Upper bound of the difference between high + low and the exact sum, for a sum of at most `terms` products
/// and other terms, sums of parts included. `smallest` bounds the error of an operation that underflows.
inline double error_bound(const DoubledSum& sum, std::int64_t terms, double smallest) {
  const auto k = static_cast<double>(3 * terms + 8);
  // The sum of magnitudes was rounded itself, by less than a factor of 2.
  return add_up(multiply_up(gamma_up(k), 2 * sum.magnitude), multiply_up(4 * k, smallest));
}

}  // namespace echelon::certification

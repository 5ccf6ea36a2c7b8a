// SPDX-License-Identifier: BSD-3-Clause
/// Length of a vector of two elements.
#pragma once

#include <cmath>

namespace echelon {

/// sqrt(a^2 + b^2), whose squares neither overflow nor underflow. std::hypot would require GLIBC_2.35 where
/// it was compiled with that version or a later one.
[[nodiscard]] inline double hypotenuse(double a, double b) {
  a = std::abs(a);
  b = std::abs(b);
  const double larger = a > b ? a : b;
  if (larger == 0 || std::isinf(a) || std::isinf(b)) return a + b;
  const double ratio = (a > b ? b : a) / larger;
  return larger * std::sqrt(1 + ratio * ratio);
}

}  // namespace echelon

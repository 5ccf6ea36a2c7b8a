// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>

#include <cstdint>

namespace echelon {

/// sign * mantissa * 2^exponent: a product of many pivots soon leaves the range of a double.
struct ECHELON_API Determinant {
  int sign = 0;         ///< -1, 0, 1
  double mantissa = 0;  ///< 0.5 <= mantissa < 1, or 0
  std::int64_t exponent = 0;

  /// The value as a double: infinite or zero where a double cannot hold it.
  [[nodiscard]] double value() const;
  /// log10 of the magnitude; -infinity for 0.
  [[nodiscard]] double log10() const;
};

}  // namespace echelon

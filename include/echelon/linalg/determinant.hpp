// SPDX-License-Identifier: BSD-3-Clause
/// Results of a factorisation that are single numbers: the determinant and the inertia.
#pragma once

#include <echelon/export.h>

#include <complex>
#include <cstdint>

namespace echelon {

/// sign * phase * mantissa * 2^exponent: a product of many pivots soon leaves the range of a double.
struct ECHELON_API Determinant {
  int sign = 0;         ///< -1, 0, 1
  double mantissa = 0;  ///< 0.5 <= mantissa < 1, or 0
  std::int64_t exponent = 0;
  std::complex<double> phase = 1;  ///< of magnitude 1; 1 for a real matrix

  /// The value for a real matrix as a double: infinite or zero where a double cannot hold it.
  [[nodiscard]] double value() const;
  /// The value for any matrix: parts are infinite or zero where a double cannot hold them.
  [[nodiscard]] std::complex<double> complex_value() const;
  /// log10 of the magnitude; -infinity for 0.
  [[nodiscard]] double log10() const;
  /// Natural logarithm of the magnitude, log |det A|; -infinity for 0.
  [[nodiscard]] double log_abs() const;
};

/// Numbers of the eigenvalues of a real symmetric or a Hermitian matrix by their sign. The pivots of L D L^T,
/// or of L D L^H, have the same signs (Sylvester's law of inertia).
struct ECHELON_API Inertia {
  std::int64_t positive = 0;
  std::int64_t negative = 0;
  std::int64_t zero = 0;
  friend bool operator==(const Inertia&, const Inertia&) = default;
};

}  // namespace echelon

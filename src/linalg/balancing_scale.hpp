// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/scalar.hpp"

#include <echelon/annotate.hpp>

#include <cmath>
#include <limits>

namespace echelon {

/// The power of two that scales `magnitude` to about 1; limited so that its reciprocal is a normal number of
/// T.
template <class T>
ECHELON_ANYWHERE T balancing_scale(double magnitude) {
  if (!(magnitude > 0)) return T{1};
  constexpr int most = std::numeric_limits<T>::max_exponent - 8;
  const int exponent = -std::ilogb(magnitude);
  return static_cast<T>(std::ldexp(1.0, exponent < -most ? -most : (exponent > most ? most : exponent)));
}

/// Magnitudes of the normal numbers of T.
template <class T>
struct NormalRange {
  static constexpr T smallest = std::numeric_limits<T>::min();
  static constexpr T largest = std::numeric_limits<T>::max();
};

/// a row_scale column_scale for powers of two whose product, or whose product with a, may be out of range.
template <class T>
ECHELON_ANYWHERE T scale_element(T a, T row_scale, T column_scale) {
  const auto row = static_cast<Real<T>>(real(row_scale));
  const auto column = static_cast<Real<T>>(real(column_scale));
  const Real<T> factor = row * column;
  if (factor >= NormalRange<Real<T>>::smallest && factor <= NormalRange<Real<T>>::largest) return a * factor;
  return scaled_by_power(a, std::ilogb(row) + std::ilogb(column));
}

}  // namespace echelon

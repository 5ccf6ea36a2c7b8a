// SPDX-License-Identifier: BSD-3-Clause
/// Magnitudes compared as integers: the bits of non-negative numbers are ordered as the numbers are, with Inf
/// above all finite ones and NaN above that.
#pragma once

#include <echelon/annotate.hpp>

#include <cstdint>
#include <cstring>

namespace echelon {

/// Of a float, in the upper half.
ECHELON_ANYWHERE inline std::uint64_t magnitude_bits(float x) {
  std::uint32_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  return std::uint64_t{bits & 0x7fffffffU} << 32U;
}
ECHELON_ANYWHERE inline std::uint64_t magnitude_bits(double x) {
  std::uint64_t bits = 0;
  memcpy(&bits, &x, sizeof bits);
  return bits & 0x7fffffffffffffffU;
}
/// Of a double, with 20 bits of its digits.
ECHELON_ANYWHERE inline std::uint32_t upper_half(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits >> 32U);
}
ECHELON_ANYWHERE inline std::uint32_t lower_half(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits);
}

/// The number that has these magnitude_bits.
template <class T>
ECHELON_ANYWHERE T magnitude_from(std::uint64_t bits) {
  if constexpr (sizeof(T) == 4) bits >>= 32U;
  T magnitude = 0;
  memcpy(&magnitude, &bits, sizeof magnitude);  // the low end first, as on every machine with a GPU
  return magnitude;
}

}  // namespace echelon

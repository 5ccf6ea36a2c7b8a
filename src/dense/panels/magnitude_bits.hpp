// SPDX-License-Identifier: BSD-3-Clause
/// Magnitudes as integers in the same order: the bits of non-negative numbers increase with their values, Inf
/// is above all finite numbers, and NaN above Inf.
#pragma once

#include <echelon/annotate.hpp>

#include <cstdint>
#include <cstring>

namespace echelon {

/// Magnitude of x as an integer; that of a float is in the upper half.
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
/// Upper 32 bits: of a double, the exponent and 20 bits of the significand; of a float, all of its bits.
ECHELON_ANYWHERE inline std::uint32_t upper_half(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits >> 32U);
}
ECHELON_ANYWHERE inline std::uint32_t lower_half(std::uint64_t bits) {
  return static_cast<std::uint32_t>(bits);
}

/// The non-negative number that has these magnitude_bits.
template <class T>
ECHELON_ANYWHERE T magnitude_from(std::uint64_t bits) {
  if constexpr (sizeof(T) == 4) bits >>= 32U;
  T magnitude = 0;
  memcpy(&magnitude, &bits, sizeof magnitude);  // little-endian, as is every machine with a GPU
  return magnitude;
}

}  // namespace echelon

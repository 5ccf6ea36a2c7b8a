// SPDX-License-Identifier: BSD-3-Clause
/// Pivots compared as integers: the bits of non-negative numbers are ordered as the numbers are, with Inf
/// above all finite ones and NaN above that.
#pragma once

#include "backend/annotate.hpp"

#include <climits>
#include <cstdint>
#include <cstring>

namespace echelon {

/// The largest element of some rows without pivots, and how large the elements of their rows with pivots are.
struct alignas(16) PivotKey {
  static constexpr int nowhere = INT_MAX;
  std::uint64_t magnitude = 0;  ///< magnitude_bits
  int row = nowhere;
  std::uint32_t above = 0;  ///< the upper half of magnitude_bits: 20 bits of a double's digits

  /// The larger one, the upper one of equals.
  [[nodiscard]] ECHELON_ANYWHERE bool beats(const PivotKey& other) const {
    return magnitude > other.magnitude || (magnitude == other.magnitude && row < other.row);
  }
};

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

/// Takes `x` in row `row` into account.
template <class T>
ECHELON_ANYWHERE void include(T x, int row, int rank, PivotKey& key) {
  const PivotKey other{magnitude_bits(x), row, 0};
  if (row < rank) {
    const std::uint32_t size = upper_half(other.magnitude);
    if (size > key.above) key.above = size;
  } else if (other.beats(key)) {
    key.magnitude = other.magnitude;
    key.row = row;
  }
}

}  // namespace echelon

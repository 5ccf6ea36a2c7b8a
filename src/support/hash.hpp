// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>

#include <cstdint>

namespace echelon {

/// 2^64 divided by the golden ratio, odd: multiples of it are spread evenly over the 64-bit numbers, and it
/// is the increment of SplitMix64.
inline constexpr std::uint64_t golden_ratio_64 = 0x9e3779b97f4a7c15U;

/// Scrambles 64 bits, one to one, so that every bit of the result depends on every bit of the argument: the
/// output function of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
/// OOPSLA 2014). hash_bits(0) is 0; add golden_ratio_64 to the argument where that matters.
ECHELON_ANYWHERE inline std::uint64_t hash_bits(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

/// Number in [0, 1) from 64 random bits; all multiples of 2^-53 are equally probable.
ECHELON_ANYWHERE inline double uniform_number(std::uint64_t bits) {
  return static_cast<double>(bits >> 11U) * 0x1p-53;
}
/// Number in [-1, 1) from 64 random bits.
ECHELON_ANYWHERE inline double symmetric_number(std::uint64_t bits) {
  return 2 * uniform_number(bits) - 1;
}

}  // namespace echelon

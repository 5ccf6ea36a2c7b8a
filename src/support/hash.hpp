// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

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

/// Hash of an array. Arrays of one length that differ in one element have different hashes: the four chains,
/// of every fourth 64 bits each, take a word by a mapping that is one to one.
template <class I>
[[nodiscard]] std::uint64_t hash_words(const I* elements, std::size_t count) {
  constexpr std::size_t chains = 4;
  constexpr std::size_t in_word = sizeof(std::uint64_t) / sizeof(I);
  static_assert(in_word * sizeof(I) == sizeof(std::uint64_t));
  std::array<std::uint64_t, chains> hash = {1, 2, 3, 4};
  const auto take = [&](std::uint64_t& own, std::size_t first, std::size_t length) {
    std::uint64_t word = 0;
    std::memcpy(&word, elements + first, length * sizeof(I));
    own = std::rotl((own ^ word) * golden_ratio_64, 29);
  };
  std::size_t i = 0;
  for (; i + chains * in_word <= count; i += chains * in_word) {
    for (std::size_t c = 0; c < chains; ++c) take(hash[c], i + c * in_word, in_word);
  }
  for (std::size_t c = 0; i < count; i += in_word, ++c) take(hash[c], i, std::min(in_word, count - i));
  std::uint64_t all = 0;
  for (const std::uint64_t own : hash) all = hash_bits(all + own);
  return all;
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

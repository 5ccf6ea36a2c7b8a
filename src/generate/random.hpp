// SPDX-License-Identifier: BSD-3-Clause
/// Random numbers that are the same on every machine: integers from Philox4x32-10, and doubles made of them
/// with operations that IEEE 754 rounds correctly. (The distributions of <random> differ between libraries.)
#pragma once

#include "generate/functions.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon::generate {

/// Philox4x32-10: Salmon, Moraes, Dror, Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011.
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
        static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// One of 2^96 independent streams of a seed. Parallel work uses one stream for each piece, so that the
/// result does not depend on the number of threads.
class Random {
 public:
  Random(std::uint64_t seed, std::uint32_t purpose, std::uint64_t piece)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        counter_{0, purpose, static_cast<std::uint32_t>(piece), static_cast<std::uint32_t>(piece >> 32)} {}

  std::uint64_t bits() {
    if (used_ == 2) {
      const auto words = philox(counter_, key_);
      ++counter_[0];
      buffer_ = {words[0] | std::uint64_t{words[1]} << 32, words[2] | std::uint64_t{words[3]} << 32};
      used_ = 0;
    }
    return buffer_[used_++];
  }
  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Uniform in 0, ..., n - 1; n > 0.
  std::int64_t below(std::int64_t n) {
    const std::uint64_t mask = std::bit_ceil(static_cast<std::uint64_t>(n)) - 1;
    for (;;) {
      const std::uint64_t candidate = bits() & mask;
      if (candidate < static_cast<std::uint64_t>(n)) return static_cast<std::int64_t>(candidate);
    }
  }
  bool chance(double probability) { return uniform() < probability; }
  /// Normal with mean 0 and variance 1, by Marsaglia's polar method.
  double normal() {
    for (;;) {
      const double x = uniform(-1, 1);
      const double y = uniform(-1, 1);
      const double square = x * x + y * y;
      if (square > 0 && square < 1) return x * std::sqrt(-2 * log(square) / square);
    }
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint64_t, 2> buffer_ = {};
  unsigned used_ = 2;
};

/// Calls f(j) for each j in [begin, end) with probability `density`, in time proportional to the number of
/// calls.
template <class F>
void each_chosen(Random& random, std::int64_t begin, std::int64_t end, double density, const F& f) {
  if (density <= 0) return;
  const double rate = density == 1     ? -std::numeric_limits<double>::infinity()
                      : density < 1e-6 ? -density * (1 + density / 2)
                                       : log(1 - density);
  for (std::int64_t j = begin; j < end; ++j) {
    const double gap = std::floor(log(1 - random.uniform()) / rate);
    if (!(gap < static_cast<double>(end - j))) return;
    j += static_cast<std::int64_t>(gap);
    f(j);
  }
}

}  // namespace echelon::generate

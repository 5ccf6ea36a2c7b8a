// SPDX-License-Identifier: BSD-3-Clause
#include "support/hash.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <set>

namespace echelon::test {
namespace {

/// The first outputs of SplitMix64 with seed 1234567, as published with java.util.SplittableRandom's
/// reference code (Vigna, splitmix64.c).
TEST(HashBits, SplitMix64_ReferenceOutputs) {
  std::uint64_t state = 1234567;
  const auto next = [&] { return hash_bits(state += golden_ratio_64); };
  EXPECT_EQ(next(), 6457827717110365317U);
  EXPECT_EQ(next(), 3203168211198807973U);
  EXPECT_EQ(next(), 9817491932198370423U);
}

TEST(HashBits, ConsecutiveNumbers_DifferInTheLowBits) {
  std::set<std::uint64_t> places;
  for (std::uint64_t i = 0; i < 64; ++i) places.insert(hash_bits(i) % 1024);
  EXPECT_GT(places.size(), 55U);  // 64 balls in 1024 urns: two collisions expected
}

}  // namespace
}  // namespace echelon::test

// SPDX-License-Identifier: BSD-3-Clause
#include "support/text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

namespace echelon::test {
namespace {

TEST(Text, ShortNumber) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(1.2345e-9), "1.23e-09");
  EXPECT_EQ(short_number(12), "12");
  EXPECT_EQ(short_number(std::nan("")), "nan");
}

TEST(Text, ExactNumber_ReadsBack) {
  EXPECT_EQ(exact_number(0.1), "0.1");
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 10000; ++trial) {
    const double value = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 2000) - 1060);
    EXPECT_EQ(std::stod(exact_number(value)), value);
  }
}

TEST(Text, ByteCount) {
  EXPECT_EQ(byte_count(0), "0 B");
  EXPECT_EQ(byte_count(1023), "1023 B");
  EXPECT_EQ(byte_count(1024), "1.0 KiB");
  EXPECT_EQ(byte_count(1536), "1.5 KiB");
  EXPECT_EQ(byte_count(std::size_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(byte_count(std::numeric_limits<std::size_t>::max()), "16.0 EiB");
}

}  // namespace
}  // namespace echelon::test

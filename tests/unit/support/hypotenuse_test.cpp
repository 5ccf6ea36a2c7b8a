// SPDX-License-Identifier: BSD-3-Clause
#include "support/hypotenuse.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace echelon {
namespace {

TEST(Hypotenuse, AgreesWithTheStandardLibrary) {
  constexpr std::array values{
      0.0,    -0.0, 1.0,   3.0,     -4.0,    1e-9,   1e-160,
      1e-320, 1e9,  1e160, 1.2e308, -1e-300, 0.1234, std::numeric_limits<double>::min()};
  for (const double a : values) {
    for (const double b : values) {
      const double expected = std::hypot(a, b);
      const double tolerance =
          4 * std::numeric_limits<double>::epsilon() * expected + std::numeric_limits<double>::denorm_min();
      EXPECT_NEAR(hypotenuse(a, b), expected, tolerance) << a << " " << b;
    }
  }
}

TEST(Hypotenuse, OneZero_Exact) {
  EXPECT_EQ(hypotenuse(0, 0.1), 0.1);
  EXPECT_EQ(hypotenuse(-0.1, 0), 0.1);
  EXPECT_EQ(hypotenuse(0, 0), 0);
}

TEST(Hypotenuse, NotFinite) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(hypotenuse(infinity, 1), infinity);
  EXPECT_EQ(hypotenuse(0, -infinity), infinity);
  EXPECT_EQ(hypotenuse(infinity, infinity), infinity);
  EXPECT_EQ(hypotenuse(1.7e308, 1.7e308), infinity);
  for (const double other : {0.0, 1.0, infinity}) {
    EXPECT_TRUE(std::isnan(hypotenuse(nan, other))) << other;
    EXPECT_TRUE(std::isnan(hypotenuse(other, nan))) << other;
  }
}

}  // namespace
}  // namespace echelon

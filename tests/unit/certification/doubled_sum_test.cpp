// SPDX-License-Identifier: BSD-3-Clause
// Sums in twice the precision against sums in 512 bits.
#include "certification/rounding.hpp"
#include "support/big_float.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace echelon::certification {
namespace {

using test::BigFloat;

/// A dot product, in twice the precision by parts of different lengths, and in 512 bits.
struct Dot {
  DoubledSum doubled;
  BigFloat exact;
  std::int64_t terms = 0;

  /// Upper bound of the error, and the error.
  [[nodiscard]] BigFloat error() const {
    return (exact - BigFloat(doubled.high) - BigFloat(doubled.low)).magnitude();
  }
};

/// Dot product of vectors with elements up to 2^range, whose second half cancels the first but for small
/// changes.
Dot cancelling_dot(std::size_t n, int range, std::mt19937_64& random) {
  std::uniform_real_distribution<double> value(-1, 1);
  std::uniform_int_distribution<int> exponent(-range, range);
  std::vector<double> x(2 * n);
  std::vector<double> y(2 * n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = std::ldexp(value(random), exponent(random));
    y[i] = std::ldexp(value(random), exponent(random));
    x[n + i] = -x[i];
    y[n + i] = y[i] * (1 + 1e-14 * value(random));
  }
  Dot dot;
  for (std::size_t begin = 0, length = 1; begin < 2 * n; begin += length, length = 2 * length % 7 + 1) {
    DoubledSum part;
    for (std::size_t i = begin; i < std::min(begin + length, 2 * n); ++i) {
      part.add_product(x[i], y[i]);
      dot.exact = dot.exact + BigFloat(x[i]) * BigFloat(y[i]);
      ++dot.terms;
    }
    dot.doubled = combine(dot.doubled, part);
    ++dot.terms;
  }
  return dot;
}

TEST(DoubledSum, CancellingProducts_ErrorBoundHolds) {
  std::mt19937_64 random(1);
  for (int k = 0; k < 2000; ++k) {
    const Dot dot = cancelling_dot(1 + static_cast<std::size_t>(k % 40), k % 100, random);
    const double bound = error_bound(dot.doubled, dot.terms, std::numeric_limits<double>::denorm_min());
    EXPECT_FALSE(BigFloat(bound) < dot.error()) << k;
    // About the square of the roundoff, times the number of terms, of the largest product.
    const double largest = std::exp2(2 * (k % 100));
    EXPECT_LE(bound, 1e-31 * static_cast<double>(dot.terms * dot.terms) * largest);
  }
}

TEST(DoubledSum, ValueOrError_IsAtLeastHalfOfTheExactSum) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> value(-1, 1);
  int errors = 0;
  for (int k = 0; k < 2000; ++k) {
    // A small term, and products that cancel each other.
    const double small = std::ldexp(value(random), -k % 150);
    std::vector<std::pair<double, double>> products;
    for (int i = 0; i <= k % 20; ++i) {
      products.emplace_back(value(random), value(random));
      products.emplace_back(-products.back().first, products.back().second);
    }
    std::shuffle(products.begin(), products.end(), random);
    DoubledSum sum{small};
    for (const auto& [a, b] : products) sum.add_product(a, b);
    const double found = sum.value_or_error(std::ssize(products));
    EXPECT_GE(2 * std::abs(found), std::abs(small)) << k;
    if (found == sum.value()) continue;
    ++errors;
    EXPECT_LT(std::abs(sum.value()), found) << k;
  }
  EXPECT_GT(errors, 100);
  EXPECT_LT(errors, 1900);
}

TEST(DoubledSum, TermLostBesideLargerOnes_IsNotZero) {
  const double t = 0x1p120 / 3;
  DoubledSum sum{1};
  sum.add_product(-0.1, t);
  sum.add_product(0.1, t);
  EXPECT_EQ(sum.value(), 0);
  EXPECT_GE(sum.value_or_error(2), 0.5);
  DoubledSum exact{1};
  exact.add_product(-2, 3);
  exact.add_product(5, 1);
  EXPECT_EQ(exact.value_or_error(2), 0);
}

TEST(DoubledSum, SubnormalProducts_ErrorBoundHolds) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> value(-1, 1);
  for (int k = 0; k < 500; ++k) {
    DoubledSum sum;
    BigFloat exact;
    for (int i = 0; i < 5; ++i) {
      const double a = std::ldexp(value(random), -500 - k % 40);
      const double b = std::ldexp(value(random), -530);
      sum.add_product(a, b);
      exact = exact + BigFloat(a) * BigFloat(b);
    }
    const BigFloat error = (exact - BigFloat(sum.high) - BigFloat(sum.low)).magnitude();
    EXPECT_FALSE(BigFloat(error_bound(sum, 5, std::numeric_limits<double>::denorm_min())) < error);
  }
}

TEST(DoubledSum, ErrorOfSum_IsExact) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> value(-1, 1);
  std::uniform_int_distribution<int> exponent(-60, 60);
  for (int k = 0; k < 2000; ++k) {
    const double a = value(random);
    const double b = std::ldexp(value(random), exponent(random));
    const double sum = a + b;
    EXPECT_TRUE((BigFloat(a) + BigFloat(b) - BigFloat(sum) - BigFloat(error_of_sum(a, b, sum))).is_zero());
  }
}

}  // namespace
}  // namespace echelon::certification

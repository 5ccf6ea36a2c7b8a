// SPDX-License-Identifier: BSD-3-Clause
#include "generate/functions.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace echelon::generate {

namespace {

/// sin(pi x) for |x| <= 1/4, by Taylor's series.
double small_sine(double x) {
  const double t = std::numbers::pi * x;
  const double square = t * t;
  double sum = 0;
  for (int k = 17; k >= 3; k -= 2) sum = (1 + sum) * (-square / (k * (k - 1)));
  return t + t * sum;
}

/// cos(pi x) for |x| <= 1/4.
double small_cosine(double x) {
  const double t = std::numbers::pi * x;
  const double square = t * t;
  double sum = 0;
  for (int k = 18; k >= 2; k -= 2) sum = (1 + sum) * (-square / (k * (k - 1)));
  return 1 + sum;
}

/// Computes sin(pi (x + quarters / 2)).
double turned_sine(double x, int quarters) {
  const double nearest = std::floor(2 * x + 0.5);  // in halves of pi
  const double rest = x - nearest / 2;
  const int quadrant = (static_cast<int>(nearest - 4 * std::floor(nearest / 4)) + quarters) % 4;
  const double value = quadrant % 2 == 0 ? small_sine(rest) : small_cosine(rest);
  return quadrant < 2 ? value : -value;
}

constexpr double ln2_high = 0x1.62e42fee00000p-1;  // its last 32 bits are zero: a small multiple is exact
constexpr double ln2_low = 0x1.a39ef35793c76p-33;

}  // namespace

double log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < std::numbers::sqrt2 / 2) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);  // log m = 2 artanh s, |s| < 0.172
  const double square = s * s;
  double sum = 0;
  for (int k = 23; k >= 3; k -= 2) sum = square * (1.0 / k + sum);
  return exponent * ln2_high + (2 * s + (2 * s * sum + exponent * ln2_low));
}

double exp(double x) {
  if (x > 710) return std::numeric_limits<double>::infinity();
  if (x < -746) return 0;
  const double k = std::floor(x / std::numbers::ln2 + 0.5);
  const double rest = (x - k * ln2_high) - k * ln2_low;  // |rest| < 0.347
  double sum = 1;
  for (int n = 14; n >= 1; --n) sum = 1 + rest / n * sum;
  return std::ldexp(sum, static_cast<int>(k));
}

double power(double base, double exponent) {
  return exp(exponent * log(base));
}

double power(double base, int n) {
  double square = n < 0 ? 1 / base : base;
  double result = 1;
  for (unsigned rest = n < 0 ? 0U - static_cast<unsigned>(n) : static_cast<unsigned>(n); rest > 0;
       rest /= 2) {
    if (rest % 2 == 1) result *= square;
    square *= square;
  }
  return result;
}

double sin_pi(double x) {
  return turned_sine(x, 0);
}

double cos_pi(double x) {
  return turned_sine(x, 1);
}

}  // namespace echelon::generate

// SPDX-License-Identifier: BSD-3-Clause
/// The determinant as a product of pivots, scales and the signs of permutations.
#pragma once

#include "support/scalar.hpp"

#include <echelon/linalg/determinant.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon {

/// Starts at 1.
class DeterminantProduct {
 public:
  /// Finite factors.
  void multiply(double factor) { take(factor, 0); }
  void multiply(std::complex<double> factor) {
    // A power of two, so that |factor| neither overflows nor loses digits.
    const double largest = std::max(std::abs(factor.real()), std::abs(factor.imag()));
    const int exponent = largest > 0 ? std::ilogb(largest) : 0;
    const std::complex<double> scaled{std::ldexp(factor.real(), -exponent),
                                      std::ldexp(factor.imag(), -exponent)};
    const double size = std::abs(scaled);
    take(size, exponent);
    if (size == 0) return;
    product_.phase *= scaled / size;
    product_.phase = product_.phase / std::abs(product_.phase);
  }
  void divide(double divisor) {
    int exponent = 0;
    const double mantissa = std::frexp(divisor, &exponent);
    take(1 / mantissa, -exponent);
  }
  /// Divides by the scales of rows or columns, which are real.
  template <class T>
  void divide_by_all(const std::vector<T>& scales) {
    for (const T scale : scales) divide(real(scale));
  }
  void multiply_by_power_of_two(std::int64_t exponent) { take(1, exponent); }
  /// Counts the exchange of two rows or columns.
  void exchange() { product_.sign = -product_.sign; }
  /// Counts the sign of a permutation of 0, ..., n - 1. O(n).
  template <class Index>
  void permute(const std::vector<Index>& permutation) {
    std::vector<bool> seen(permutation.size(), false);
    for (std::size_t first = 0; first < permutation.size(); ++first) {
      if (seen[first]) continue;
      seen[first] = true;
      for (auto k = static_cast<std::size_t>(permutation[first]); k != first;
           k = static_cast<std::size_t>(permutation[k])) {
        seen[k] = true;
        exchange();
      }
    }
  }

  [[nodiscard]] const Determinant& value() const { return product_; }

 private:
  void take(double factor, std::int64_t exponent) {
    if (factor == 0 || product_.sign == 0) {
      product_ = {};
      return;
    }
    int shift = 0;
    product_.mantissa = std::frexp(product_.mantissa * std::abs(factor), &shift);
    product_.exponent += shift + exponent;
    if (factor < 0) exchange();
  }

  Determinant product_{1, 0.5, 1};
};

/// Multiplies by the determinant of the symmetric pivot (a11, a21; a21, a22) of order two; a Hermitian one
/// has that of its real diagonal and |a21|. Products are scaled, so that they neither overflow nor underflow.
template <class T>
void multiply_by_pair(DeterminantProduct& product, T a11, T a21, T a22) {
  const double largest = std::max({magnitude(a11), magnitude(a21), magnitude(a22)});
  if (largest == 0) return product.multiply(0.0);
  const auto wide = [](T a) { return static_cast<Dot<T>>(a); };
  product.multiply(wide(a11) / largest * wide(a22) - wide(a21) / largest * wide(a21));
  product.multiply(largest);
}

}  // namespace echelon

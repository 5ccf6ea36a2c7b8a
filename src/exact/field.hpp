// SPDX-License-Identifier: BSD-3-Clause
/// Fields that the elimination computes in. A field says what an element of a row is, when it counts as zero,
/// how a multiple is subtracted, and which of two rows is the better owner of an unknown.
#pragma once

#include "backend/rounded.hpp"

#include <echelon/annotate.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>

namespace echelon::mapped {

/// Real numbers in floating point. The size of an element is the sum of the magnitudes of all terms that it
/// was computed from, |a_ij| + |l_i1 u_1j| + ...: rounding leaves a small multiple of eps times that where
/// exact arithmetic has zero, and neglecting so much changes A by as much as rounding does.
template <class T>
struct RealField {
  using Value = T;
  struct Element {
    T value = 0;
    T size = 0;
  };

  double tolerance = 0;  ///< an element is zero if its magnitude is at most this times its size

  static constexpr bool is_exact = false;

  ECHELON_ANYWHERE Element element(T a) const { return {a, std::fabs(a)}; }
  ECHELON_ANYWHERE T number(Value v) const { return v; }
  [[nodiscard]] T signed_number(Value v) const { return v; }
  [[nodiscard]] std::string modulus_text() const { return {}; }
  /// True if an element counts as zero. Infinities do not, even if their size is infinite.
  ECHELON_ANYWHERE bool is_zero(Element e) const {
    const T bound = static_cast<T>(tolerance) * e.size;
    return e.value == 0 || (std::fabs(e.value) <= bound && bound - bound == 0);
  }
  ECHELON_ANYWHERE bool is_finite(Element e) const { return e.value - e.value == 0; }
  ECHELON_ANYWHERE T quotient(T a, T b) const { return a / b; }
  /// Difference a - m b.
  ECHELON_ANYWHERE Element reduced(Element a, T m, T b) const {
    const T product = rounded_product(m, b);
    return {a.value - product, a.size + std::fabs(product)};
  }
  /// Fill-in -m b, where a row had no element. Its terms are those of b: if b is noise, so is the fill-in.
  ECHELON_ANYWHERE Element fill_in(T m, Element b) const {
    return {-rounded_product(m, b.value), std::fabs(rounded_product(m, b.size))};
  }
  /// |value| / size; 0 for an element of size 0.
  ECHELON_ANYWHERE double relative_size(Element e) const {
    return e.size > 0 ? static_cast<double>(std::fabs(e.value)) / static_cast<double>(e.size) : 0;
  }
  /// Priority of a row as owner of the unknown of its leading element: the largest wins. Magnitudes have the
  /// order of their bits.
  ECHELON_ANYWHERE std::uint64_t priority(Element lead, double norm, std::int32_t /*length*/) const {
    const double ratio = static_cast<double>(std::fabs(lead.value)) / norm;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &ratio, sizeof(bits));
    return bits;
  }
  ECHELON_ANYWHERE double size(Element e) const { return static_cast<double>(e.size); }
};

/// Numbers m 2^e modulo a prime p < 2^31: integers m and, if p is odd, any exponents e, since 2 has an
/// inverse. All nonzero elements are equally good; the shorter row is the better owner, since it causes less
/// fill.
struct PrimeField {
  using Value = std::uint32_t;
  struct Element {
    std::uint32_t value = 0;
  };

  std::uint32_t prime = 2;

  static constexpr bool is_exact = true;

  /// The residue of a finite floating-point number; of an integer if p = 2.
  template <class T>
  ECHELON_ANYWHERE Element element(T a) const {
    auto integer = static_cast<double>(a);
    int fraction_bits = 0;
    if (std::floor(integer) != integer) {
      fraction_bits = 52 - std::ilogb(integer);
      integer = std::ldexp(integer, fraction_bits);
    }
    const double residue = std::fmod(integer, static_cast<double>(prime));
    const auto value = static_cast<std::uint32_t>(residue < 0 ? residue + prime : residue);
    return {fraction_bits == 0 ? value : product(value, inverse_power_of_two(fraction_bits))};
  }
  ECHELON_ANYWHERE double number(Value v) const { return v; }
  /// The residue of the smallest magnitude.
  [[nodiscard]] double signed_number(Value v) const { return v <= prime / 2 ? number(v) : number(v) - prime; }
  [[nodiscard]] std::string modulus_text() const { return " modulo " + std::to_string(prime); }
  ECHELON_ANYWHERE bool is_zero(Element e) const { return e.value == 0; }
  ECHELON_ANYWHERE bool is_finite(Element) const { return true; }
  /// Quotient a / b, with the inverse of b by Euclid's algorithm: r = s b modulo p throughout.
  ECHELON_ANYWHERE std::uint32_t quotient(std::uint32_t a, std::uint32_t b) const {
    std::int64_t r = prime;
    std::int64_t next_r = b;
    std::int64_t s = 0;
    std::int64_t next_s = 1;
    while (next_r != 0) {
      const std::int64_t q = r / next_r;
      const std::int64_t remainder = r - q * next_r;
      r = next_r;
      next_r = remainder;
      const std::int64_t previous = s - q * next_s;
      s = next_s;
      next_s = previous;
    }
    return product(a, static_cast<std::uint32_t>(s < 0 ? s + prime : s));
  }
  /// Difference a - m b.
  ECHELON_ANYWHERE Element reduced(Element a, std::uint32_t m, std::uint32_t b) const {
    const std::uint32_t p = product(m, b);
    return {a.value >= p ? a.value - p : a.value + (prime - p)};
  }
  ECHELON_ANYWHERE Element fill_in(std::uint32_t m, Element b) const { return reduced({}, m, b.value); }
  ECHELON_ANYWHERE double relative_size(Element e) const { return e.value == 0 ? 0 : 1; }
  ECHELON_ANYWHERE std::uint64_t priority(Element, double, std::int32_t length) const {
    return UINT32_MAX - static_cast<std::uint32_t>(length);
  }
  ECHELON_ANYWHERE double size(Element) const { return 0; }

 private:
  /// 2^-k modulo an odd p, for k >= 0.
  ECHELON_ANYWHERE std::uint32_t inverse_power_of_two(int k) const {
    std::uint32_t power = 1;
    std::uint32_t base = prime / 2 + 1;
    for (; k > 0; k /= 2) {
      if (k % 2 == 1) power = product(power, base);
      base = product(base, base);
    }
    return power;
  }
  ECHELON_ANYWHERE std::uint32_t product(std::uint32_t a, std::uint32_t b) const {
    return static_cast<std::uint32_t>(std::uint64_t{a} * b % prime);
  }
};

}  // namespace echelon::mapped

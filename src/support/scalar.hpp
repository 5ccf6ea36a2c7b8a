// SPDX-License-Identifier: BSD-3-Clause
/// Functions that have the same meaning for real and complex numbers.
#pragma once

#include <echelon/annotate.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cmath>
#include <complex>

namespace echelon {

/// The complex conjugate: x itself if T is real.
template <class T>
ECHELON_ANYWHERE T conj(T x) {
  if constexpr (is_complex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

template <class T>
ECHELON_ANYWHERE double real(T x) {
  if constexpr (is_complex<T>) {
    return static_cast<double>(x.real());
  } else {
    return static_cast<double>(x);
  }
}

/// |x|, without overflow of its square.
template <class T>
ECHELON_ANYWHERE double magnitude(T x) {
  if constexpr (is_complex<T>) {
    return abs(static_cast<Dot<T>>(x));  // that of std, or of support/complex_arithmetic.cuh
  } else {
    return std::fabs(static_cast<double>(x));
  }
}

/// |x|^2.
template <class T>
ECHELON_ANYWHERE double squared_magnitude(T x) {
  if constexpr (is_complex<T>) {
    return std::norm(static_cast<Dot<T>>(x));
  } else {
    return static_cast<double>(x) * static_cast<double>(x);
  }
}

/// Whether x is neither NaN nor infinite, and neither are its parts.
template <class T>
ECHELON_ANYWHERE bool is_finite(T x) {
  if constexpr (is_complex<T>) {
    return is_finite(x.real()) && is_finite(x.imag());
  } else {
    return x - x == 0;
  }
}

/// 2^exponent x, rounded once.
template <class T>
ECHELON_ANYWHERE T scaled_by_power(T x, int exponent) {
  if constexpr (is_complex<T>) {
    return {scaled_by_power(x.real(), exponent), scaled_by_power(x.imag(), exponent)};
  } else {
    return static_cast<T>(std::ldexp(static_cast<double>(x), exponent));
  }
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Vectors rounded to float, scaled by powers of two into its range.
#pragma once

#include "backend/backend.hpp"
#include "backend/rounded.hpp"
#include "linalg/vector/multi_vector.hpp"

#include <cmath>
#include <cstdint>

namespace echelon {

/// The power of two that brings the largest magnitude of a vector to about 1, and its reciprocal.
struct FloatScale {
  double factor = 1;
  double inverse = 1;
};
struct StoreScale {
  FloatScale* scale;
  ECHELON_ANYWHERE void operator()(Largest largest) const {
    constexpr int limit = 1000;  // largest exponent: the power and its reciprocal are finite
    const double value = largest.value;
    int exponent = value > 0 && value <= 1.7e308 ? -std::ilogb(value) : 0;
    exponent = exponent > limit ? limit : exponent < -limit ? -limit : exponent;
    scale->factor = std::ldexp(1.0, exponent);
    scale->inverse = std::ldexp(1.0, -exponent);
  }
};
/// Computes the scale of a vector from its Euclidean norm, which is at most sqrt(n) times the largest
/// magnitude: rounding is the same as with that, unless an element is less than 1e-30 of the norm.
struct ScaleByNorm {
  const double* norm;
  FloatScale* scale;
  ECHELON_ANYWHERE void operator()(std::int64_t) const { StoreScale{scale}(Largest{*norm}); }
};

/// to = factor from.
template <class T>
struct RoundVector {
  const FloatScale* scale;
  const T* from;
  float* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    to[i] = static_cast<float>(scale->factor * static_cast<double>(from[i]));
  }
};

/// The vector matrix_factor / factor from, in T, computed on access instead of stored. Both products are
/// exact, and not contracted with what follows: the elements have the bits of stored ones.
template <class T>
struct WidenedVector {
  const FloatScale* scale;
  double matrix_factor;
  const float* from;
  ECHELON_ANYWHERE T operator[](std::int64_t i) const {
    const double product = rounded_product(matrix_factor, static_cast<double>(from[i]));
    return static_cast<T>(rounded_product(scale->inverse, product));
  }
};

/// Several vectors in float, each with a scale, as vectors of T.
template <class T>
struct WidenedVectors {
  MultiVector<const float> vectors;
  MultiVector<const FloatScale> scales;  ///< one row
  double matrix_factor = 1;
  [[nodiscard]] WidenedVector<T> operator[](int c) const { return {scales[c], matrix_factor, vectors[c]}; }
};

/// to = from, for any vector with the operator [].
template <class T, class Vector>
struct StoreVector {
  Vector from;
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { to[i] = from[i]; }
};

}  // namespace echelon

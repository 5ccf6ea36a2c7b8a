// SPDX-License-Identifier: BSD-3-Clause
/// Loop bodies that several methods use, and access to the elements of views.
#pragma once

#include "backend/backend.hpp"
#include "support/scalar.hpp"

#include <echelon/matrix/dense.hpp>

#include <cmath>
#include <cstdint>

namespace echelon {

/// A contiguous vector.
template <class T>
struct Packed {
  T* data;
  ECHELON_ANYWHERE T& operator[](std::int64_t i) const { return data[i]; }
};

/// A vector with a stride: a column of a row-major matrix.
template <class T>
struct Strided {
  T* data;
  std::int64_t step;
  ECHELON_ANYWHERE T& operator[](std::int64_t i) const { return data[i * step]; }
};

/// The elements of any view, numbered column by column.
template <class T>
struct ViewElements {
  T* data;
  std::int64_t rows;
  std::int64_t row_step;
  std::int64_t column_step;
  explicit ViewElements(const DenseView<T>& view)
      : data(view.data()),
        rows(view.rows()),
        row_step(view.layout() == Layout::column_major ? 1 : view.leading()),
        column_step(view.layout() == Layout::column_major ? view.leading() : 1) {}
  ECHELON_ANYWHERE T& operator[](std::int64_t i) const {
    return data[i % rows * row_step + i / rows * column_step];
  }
};

/// conj(x_i) y_i, a term of (x, y) = x^H y.
template <class T, class X = const T*, class Y = X>
struct Product {
  X x;
  Y y;
  ECHELON_ANYWHERE SumOf<Dot<T>> operator()(std::int64_t i) const {
    return {conj(static_cast<Dot<T>>(x[i])) * static_cast<Dot<T>>(y[i])};
  }
};

/// |x_i|^2, a term of (x, x).
template <class X>
struct SquaredMagnitude {
  X x;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const { return {squared_magnitude(x[i])}; }
};
template <class X>
SquaredMagnitude(X) -> SquaredMagnitude<X>;

/// x_i y_i and x_i z_i, terms of (x, y) and (x, z) for real vectors, in one reduction.
template <class T>
struct TwoProducts {
  const T* x;
  const T* y;
  const T* z;
  ECHELON_ANYWHERE TwoSums operator()(std::int64_t i) const {
    const auto value = static_cast<double>(x[i]);
    return {value * static_cast<double>(y[i]), value * static_cast<double>(z[i])};
  }
};

/// x_i, a term of the sum of the elements.
template <class T, class X>
struct ElementValue {
  X x;
  ECHELON_ANYWHERE SumOf<Dot<T>> operator()(std::int64_t i) const { return {static_cast<Dot<T>>(x[i])}; }
};

/// |x_i|, a term of ||x||_1.
template <class X>
struct Magnitude {
  X x;
  ECHELON_ANYWHERE Sum operator()(std::int64_t i) const { return {magnitude(x[i])}; }
};

/// |x_i|, a term of ||x||_inf.
template <class X>
struct LargestMagnitude {
  X x;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i) const { return {magnitude(x[i])}; }
};

/// A sum of squares without overflow or underflow: large and small numbers are scaled by powers of two and
/// summed separately (Blue, ACM TOMS 4, 1978; constants of Anderson, ACM TOMS 44, 2017).
struct SquareSum {
  double small = 0;
  double medium = 0;
  double large = 0;

  static constexpr double small_limit = 0x1p-511;
  static constexpr double large_limit = 0x1p486;
  static constexpr double small_scale = 0x1p537;
  static constexpr double large_scale = 0x1p-538;

  friend ECHELON_ANYWHERE SquareSum combine(SquareSum a, SquareSum b) {
    return {a.small + b.small, a.medium + b.medium, a.large + b.large};
  }
  ECHELON_ANYWHERE double root() const {
    if (large > 0) return std::sqrt(large + medium * large_scale * large_scale) / large_scale;
    const double small_root = std::sqrt(small) / small_scale;
    const double medium_root = std::sqrt(medium);
    if (small_root == 0 || small_root < 0x1p-54 * medium_root) return medium_root;
    if (medium_root == 0) return small_root;
    const double ratio = small_root / medium_root;
    return ratio < 1 ? medium_root * std::sqrt(1 + ratio * ratio)
                     : small_root * std::sqrt(1 + 1 / (ratio * ratio));
  }
};

/// True if a sum of squares of doubles has neither overflowed nor lost accuracy to underflow.
ECHELON_ANYWHERE inline bool is_safe(double squares) {
  return squares > 1e-280 && squares < 1e300;
}

/// A term of the scaled sum of squares if the plain sum in `squares` is not accurate; otherwise nothing.
template <class X>
struct ScaledSquare {
  X x;
  const double* squares;
  ECHELON_ANYWHERE SquareSum operator()(std::int64_t i) const {
    SquareSum sum;
    if (is_safe(*squares)) return sum;
    const double size = magnitude(x[i]);
    if (size > SquareSum::large_limit) {
      const double scaled = size * SquareSum::large_scale;
      sum.large = scaled * scaled;
    } else if (size < SquareSum::small_limit) {
      const double scaled = size * SquareSum::small_scale;
      sum.small = scaled * scaled;
    } else {  // NaN, too
      sum.medium = size * size;
    }
    return sum;
  }
};

/// Replaces the plain sum of squares by the norm, or by that of the scaled sum.
struct FinishNorm {
  double* result;
  ECHELON_ANYWHERE void operator()(Sum squares) const { *result = std::sqrt(squares.value); }
  ECHELON_ANYWHERE void operator()(SquareSum squares) const {
    *result = is_safe(*result) ? std::sqrt(*result) : squares.root();
  }
};

/// Stores a sum as one number.
template <class S>
struct StoreSum {
  S* target;
  ECHELON_ANYWHERE void operator()(SumOf<S> sum) const { *target = sum.value; }
};

/// Stores the result of a reduction as one double.
struct StoreDouble {
  double* target;
  ECHELON_ANYWHERE void operator()(Sum sum) const { *target = sum.value; }
  ECHELON_ANYWHERE void operator()(Largest largest) const { *target = largest.value; }
};

/// x = 2^exponent x.
template <class T>
struct ScaleByPowerOfTwo {
  int exponent;
  T* x;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { x[i] = scaled_by_power(x[i], exponent); }
};

/// y = conj(x), where y may be x.
template <class X, class Y>
struct ConjugateElement {
  X x;
  Y y;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { y[i] = conj(x[i]); }
};
template <class X, class Y>
ConjugateElement(X, Y) -> ConjugateElement<X, Y>;

/// to = D from, where to may be from, for the diagonal `scale` of D; null: D = I.
template <class T>
struct ScaleVector {
  const T* scale;
  const T* from;
  T* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    to[i] = scale == nullptr ? from[i] : scale[i] * from[i];
  }
};

/// target[i] = i step: offsets of rows of equal length.
struct Multiples {
  std::int64_t step;
  std::int64_t* target;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { target[i] = i * step; }
};

/// sum = x + y, where sum may be x or y.
template <class T>
struct AddVectors {
  const T* x;
  const T* y;
  T* sum;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { sum[i] = x[i] + y[i]; }
};

/// to = from, converted to another type of numbers.
template <class From, class To>
struct ConvertVector {
  const From* from;
  To* to;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const { to[i] = static_cast<To>(from[i]); }
};

/// c = alpha a + beta b; an operand that is not `read` counts as zero. Whether one is read is a constant, so
/// that the loop has no branch.
template <class T, class A, class B, class C, bool reads_a = true, bool reads_b = true>
struct AddElement {
  T alpha;
  A a;
  T beta;
  B b;
  C c;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    if constexpr (reads_a && reads_b) {
      c[i] = alpha * a[i] + beta * b[i];
    } else if constexpr (reads_a) {
      c[i] = alpha * a[i];
    } else if constexpr (reads_b) {
      c[i] = beta * b[i];
    } else {
      c[i] = T{0};
    }
  }
};

/// C = alpha A + beta B for n elements; an operand with a factor of zero is not read.
template <class B, class T, class X, class Y>
void add_elements(B& backend, std::int64_t n, T alpha, X a, T beta, X b, Y c) {
  const auto add = [&]<bool reads_a, bool reads_b>() {
    backend.for_each(n, AddElement<T, X, X, Y, reads_a, reads_b>{alpha, a, beta, b, c});
  };
  if (alpha != T{0} && beta != T{0}) {
    add.template operator()<true, true>();
  } else if (alpha != T{0}) {
    add.template operator()<true, false>();
  } else if (beta != T{0}) {
    add.template operator()<false, true>();
  } else {
    add.template operator()<false, false>();
  }
}

}  // namespace echelon

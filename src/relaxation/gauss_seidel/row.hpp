// SPDX-License-Identifier: BSD-3-Clause
/// Arithmetic of one row of a Gauss-Seidel sweep. This is the only place that fixes the order of summation,
/// so every backend computes the same bits with any number of threads.
///
/// The sum of row i has two parts, each summed separately from 0:
///
///   lower = sum over j < i of a_ij x_j,    upper = sum over j > i of a_ij x_j,
///
/// where x_j is the new value if the sweep has passed row j and the old one otherwise. A part is summed from
/// its far end towards the diagonal, so the neighbour that a sweep finishes last is added last, forward and
/// backward. A part of at most 32 elements is one chain s = fma(a_ij, x_j, s). In a longer part, element e
/// (counted from the far end) belongs to partial sum e mod 32; each partial sum is such a chain, and they are
/// added as a tree: s[l] += s[l + 16] for l < 16, then with distances 8, 4, 2, 1. With d = 1 / a_ii then
///
///   forward:   r = (b_i - upper) - lower,     backward:   r = (b_i - lower) - upper,
///   x_i = r d  for omega = 1,   otherwise   x_i = fma(r, omega d, (1 - omega) x_i).
///
/// The part subtracted first never depends on rows of the same sweep. After the last value that a row waits
/// for there remain one fma, a subtraction, and a multiplication or fma. A row whose a_ii is zero or not
/// stored keeps its x_i. Every NaN is written as the quiet NaN of std::numeric_limits. All products are added
/// by explicit fma, those of complex numbers by two for each part, so contraction by the compiler changes
/// nothing. The last bits of complex quotients, and of products with them, are those of the compiler.
#pragma once

#include "backend/lower_bound.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/scalar.hpp>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

namespace echelon::gauss_seidel {

/// Length up to which a part is one chain, and the number of partial sums of a longer part.
inline constexpr std::int64_t chain_limit = 32;

/// a b + c, rounded once.
ECHELON_ANYWHERE inline float multiply_add(float a, float b, float c) {
  return ::fmaf(a, b, c);
}
ECHELON_ANYWHERE inline double multiply_add(double a, double b, double c) {
  return ::fma(a, b, c);
}

/// a b + c for complex numbers, each part by two roundings.
template <class R>
ECHELON_ANYWHERE std::complex<R> multiply_add(std::complex<R> a, std::complex<R> b, std::complex<R> c) {
  return {multiply_add(a.real(), b.real(), multiply_add(-a.imag(), b.imag(), c.real())),
          multiply_add(a.real(), b.imag(), multiply_add(a.imag(), b.real(), c.imag()))};
}

/// One side of a row. Element e < count, counted from the far end, is stored at first + e * step.
struct RowSide {
  std::int64_t first;
  std::int64_t step;
  std::int64_t count;
};

/// Chain over elements begin, begin + stride, … of a part. x(j) is the value of unknown j.
template <class T, class X>
ECHELON_ANYWHERE T chain(const std::int32_t* column_indices, const T* values, const RowSide& part,
                         std::int64_t begin, std::int64_t stride, const X& x) {
  T sum = 0;
  std::int64_t k = part.first + begin * part.step;
  for (std::int64_t e = begin; e < part.count; e += stride, k += stride * part.step) {
    sum = multiply_add(values[k], x(column_indices[k]), sum);
  }
  return sum;
}

/// Sum of the partial sums of a long part, which it changes.
template <class T>
ECHELON_ANYWHERE T tree_sum(T (&partial)[chain_limit]) {
  for (std::int64_t width = chain_limit / 2; width > 0; width /= 2) {
    for (std::int64_t l = 0; l < width; ++l) partial[l] += partial[l + width];
  }
  return partial[0];
}

/// Sum of one part.
template <class T, class X>
ECHELON_ANYWHERE T part_sum(const std::int32_t* column_indices, const T* values, const RowSide& part,
                            const X& x) {
  if (part.count <= chain_limit) {
    return chain(column_indices, values, part, std::int64_t{0}, std::int64_t{1}, x);
  }
  T partial[chain_limit];
  for (std::int64_t l = 0; l < chain_limit; ++l) {
    partial[l] = chain(column_indices, values, part, l, chain_limit, x);
  }
  return tree_sum(partial);
}

/// Split of a row at its diagonal: the lower part is [begin, diagonal), the upper part [upper, end), and
/// a_ii, if it is stored, lies between them.
struct RowSplit {
  std::int64_t begin;
  std::int64_t diagonal;
  std::int64_t upper;
  std::int64_t end;
  [[nodiscard]] ECHELON_ANYWHERE bool has_diagonal() const { return diagonal < upper; }
  [[nodiscard]] ECHELON_ANYWHERE RowSide lower_part() const { return {begin, 1, diagonal - begin}; }
  [[nodiscard]] ECHELON_ANYWHERE RowSide upper_part() const { return {end - 1, -1, end - upper}; }
};

/// Splits row i, whose columns ascend. O(log(end - begin)).
ECHELON_ANYWHERE inline RowSplit split_row(const std::int32_t* column_indices, std::int64_t begin,
                                           std::int64_t end, std::int64_t i) {
  const std::int64_t k = lower_bound(column_indices, begin, end, i);
  return {begin, k, k < end && column_indices[k] == i ? k + 1 : k, end};
}

/// Sums of both parts of a row, and its diagonal element (0 if it is not stored).
template <class T>
struct RowSums {
  T lower = 0;
  T upper = 0;
  T diagonal = 0;
};

/// lower_x(j) and upper_x(j) are the values of the unknowns left and right of the diagonal.
template <class T, class LowerX, class UpperX>
ECHELON_ANYWHERE RowSums<T> row_sums(const std::int32_t* column_indices, const T* values, std::int64_t begin,
                                     std::int64_t end, std::int64_t i, const LowerX& lower_x,
                                     const UpperX& upper_x) {
  RowSums<T> sums;
  if (end - begin > chain_limit) {
    const RowSplit parts = split_row(column_indices, begin, end, i);
    sums.lower = part_sum(column_indices, values, parts.lower_part(), lower_x);
    sums.upper = part_sum(column_indices, values, parts.upper_part(), upper_x);
    if (parts.has_diagonal()) sums.diagonal = values[parts.diagonal];
    return sums;
  }
  // Short rows are split while they are summed.
  std::int64_t k = begin;
  for (; k < end && column_indices[k] < i; ++k) {
    sums.lower = multiply_add(values[k], lower_x(column_indices[k]), sums.lower);
  }
  if (k < end && column_indices[k] == i) sums.diagonal = values[k++];
  for (std::int64_t far = end; far-- > k;) {
    sums.upper = multiply_add(values[far], upper_x(column_indices[far]), sums.upper);
  }
  return sums;
}

/// A row of which everything is known except the part that waits for other rows.
template <class T>
struct PartialRow {
  T reduced_rhs;       ///< b_i minus the part that is subtracted first
  T inverse_diagonal;  ///< omega / a_ii
  T weighted_old;      ///< (1 - omega) x_i, with the old x_i
};

/// The relaxation x_i <- (1 - omega) x_i + omega r / a_ii.
template <class T>
struct Relaxation {
  T omega;
  T one_minus_omega;
  ECHELON_ANYWHERE explicit Relaxation(T factor) : omega(factor), one_minus_omega(T{1} - factor) {}

  /// Combines what is known in advance. `first` is the part subtracted first: upper in a forward sweep, lower
  /// in a backward one. a_ii is not zero.
  [[nodiscard]] ECHELON_ANYWHERE PartialRow<T> begin(T b, T first, T a_ii, T old_x) const {
    return {b - first, omega * (T{1} / a_ii), one_minus_omega * old_x};
  }
  /// The new x_i. `second` is the other part.
  [[nodiscard]] ECHELON_ANYWHERE T finish(const PartialRow<T>& row, T second) const {
    const T r = row.reduced_rhs - second;
    return omega == T{1} ? r * row.inverse_diagonal : multiply_add(r, row.inverse_diagonal, row.weighted_old);
  }
  ECHELON_ANYWHERE T operator()(T b, T first, T second, T a_ii, T old_x) const {
    return finish(begin(b, first, a_ii, old_x), second);
  }
};

/// The only NaN that sweeps write.
template <class T>
inline constexpr T canonical_nan = std::numeric_limits<T>::quiet_NaN();

/// Replaces every NaN, that of a part of a complex number too, by canonical_nan.
template <class T>
ECHELON_ANYWHERE T canonical(T value) {
  if constexpr (is_complex<T>) {
    return {canonical(value.real()), canonical(value.imag())};
  } else {
    return value == value ? value : canonical_nan<T>;
  }
}

}  // namespace echelon::gauss_seidel

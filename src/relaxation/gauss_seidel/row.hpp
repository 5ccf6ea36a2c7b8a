// SPDX-License-Identifier: BSD-3-Clause
/// The arithmetic of one row of a Gauss-Seidel sweep: the one place that fixes the order of summation, so
/// that every backend, with any number of threads, computes the same bits.
///
/// Row i's sum is taken in two parts, each by itself and starting from 0:
///
///   lower = sum over j < i of a_ij x_j,    upper = sum over j > i of a_ij x_j,
///
/// x_j being the new value where the sweep has been and the old one elsewhere. A part is taken from its far
/// end towards the diagonal: the neighbour that a sweep finishes last comes last, forward and backward. A
/// part of at most 32 elements is one chain s = fma(a_ij, x_j, s). In a longer one element number e, counted
/// from the far end, belongs to partial sum e mod 32, each of them such a chain, and the partial sums are
/// added as a tree: s[l] += s[l + 16] for l < 16, then + 8, 4, 2, 1. Then, with d = 1 / a_ii,
///
///   forward:   r = (b_i - upper) - lower,     backward:   r = (b_i - lower) - upper,
///   x_i = r d  for omega = 1,   else   x_i = fma(r, omega d, (1 - omega) x_i).
///
/// What is subtracted first never waits for other rows, and what follows the last row waited for is one fma,
/// a subtraction and a multiplication or fma. A row whose a_ii is zero or not stored keeps its x_i. A NaN of
/// whatever kind is written as the quiet NaN of std::numeric_limits. No product is added to anything other
/// than by fma here, so a compiler's licence to contract changes nothing.
#pragma once

#include "backend/lower_bound.hpp"

#include <echelon/annotate.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace echelon::gauss_seidel {

/// The longest part that is one chain, and the number of partial sums of a longer one.
inline constexpr std::int64_t chain_limit = 32;

/// a b + c, rounded once.
ECHELON_ANYWHERE inline float multiply_add(float a, float b, float c) {
  return ::fmaf(a, b, c);
}
ECHELON_ANYWHERE inline double multiply_add(double a, double b, double c) {
  return ::fma(a, b, c);
}

/// One side of a row: element number e of `count`, counted from the far end, is at first + e step.
struct Part {
  std::int64_t first;
  std::int64_t step;
  std::int64_t count;
};

/// The chain over elements number e = begin, begin + stride, ... of a part; x(j) is the value of unknown j.
template <class T, class X>
ECHELON_ANYWHERE T chain(const std::int32_t* column_indices, const T* values, const Part& part,
                         std::int64_t begin, std::int64_t stride, const X& x) {
  T sum = 0;
  std::int64_t k = part.first + begin * part.step;
  for (std::int64_t e = begin; e < part.count; e += stride, k += stride * part.step) {
    sum = multiply_add(values[k], x(column_indices[k]), sum);
  }
  return sum;
}

/// The sum of one part.
template <class T, class X>
ECHELON_ANYWHERE T part_sum(const std::int32_t* column_indices, const T* values, const Part& part,
                            const X& x) {
  if (part.count <= chain_limit) {
    return chain(column_indices, values, part, std::int64_t{0}, std::int64_t{1}, x);
  }
  T partial[chain_limit];
  for (std::int64_t l = 0; l < chain_limit; ++l) {
    partial[l] = chain(column_indices, values, part, l, chain_limit, x);
  }
  for (std::int64_t width = chain_limit / 2; width > 0; width /= 2) {
    for (std::int64_t l = 0; l < width; ++l) partial[l] += partial[l + width];
  }
  return partial[0];
}

/// Where a row is split: the lower part is [begin, diagonal), the upper one [upper, end), and a_ii, if it is
/// stored, lies between them.
struct RowParts {
  std::int64_t begin;
  std::int64_t diagonal;
  std::int64_t upper;
  std::int64_t end;
  [[nodiscard]] ECHELON_ANYWHERE bool has_diagonal() const { return diagonal < upper; }
  [[nodiscard]] ECHELON_ANYWHERE Part lower_part() const { return {begin, 1, diagonal - begin}; }
  [[nodiscard]] ECHELON_ANYWHERE Part upper_part() const { return {end - 1, -1, end - upper}; }
};

/// Columns ascend. O(log(end - begin)).
ECHELON_ANYWHERE inline RowParts split_row(const std::int32_t* column_indices, std::int64_t begin,
                                           std::int64_t end, std::int64_t i) {
  const std::int64_t k = lower_bound(column_indices, begin, end, i);
  return {begin, k, k < end && column_indices[k] == i ? k + 1 : k, end};
}

/// The two parts of a row, and its diagonal element: 0 when it is not stored.
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
    const RowParts parts = split_row(column_indices, begin, end, i);
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

/// A row of which all is known but the part that waits for other rows.
template <class T>
struct HalfDone {
  T rest;   ///< b_i less the part subtracted first
  T scale;  ///< omega / a_ii
  T kept;   ///< (1 - omega) x_i
};

/// The factors of the relaxation.
template <class T>
struct Relaxation {
  T omega;
  T rest;  ///< 1 - omega
  ECHELON_ANYWHERE explicit Relaxation(T factor) : omega(factor), rest(T{1} - factor) {}

  /// Before any waiting; `first` is the part subtracted first (upper in a forward sweep, lower in a backward
  /// one). a_ii is not zero.
  [[nodiscard]] ECHELON_ANYWHERE HalfDone<T> begin(T b, T first, T a_ii, T old_x) const {
    return {b - first, omega * (T{1} / a_ii), rest * old_x};
  }
  /// The new x_i; `second` is the other part.
  [[nodiscard]] ECHELON_ANYWHERE T finish(const HalfDone<T>& row, T second) const {
    const T r = row.rest - second;
    return omega == T{1} ? r * row.scale : multiply_add(r, row.scale, row.kept);
  }
  ECHELON_ANYWHERE T operator()(T b, T first, T second, T a_ii, T old_x) const {
    return finish(begin(b, first, a_ii, old_x), second);
  }
};

/// The one NaN that sweeps write.
template <class T>
inline constexpr T written_nan = std::numeric_limits<T>::quiet_NaN();

/// The value as a sweep writes it.
template <class T>
ECHELON_ANYWHERE T one_nan(T value) {
  return value == value ? value : written_nan<T>;
}

}  // namespace echelon::gauss_seidel

// SPDX-License-Identifier: BSD-3-Clause
/// Pairs of elements (i, k) and (k, i) of a matrix in two triangles.
#pragma once

#include "incomplete/triangles.hpp"
#include "support/scalar.hpp"

#include <cmath>
#include <cstdint>

namespace echelon::incomplete {

/// For each element (i, k) of row i of the lower triangle, finds the number of elements before (k, i) in row
/// k of the upper triangle. Reports the row if one of these is not stored.
template <class T>
struct FindTransposed {
  TriangleRows<T> triangles;
  std::int32_t* transposed;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    bool found = true;
    for (std::int64_t e = triangles.lower_offsets[i]; e < triangles.lower_offsets[i + 1]; ++e) {
      const std::int32_t k = triangles.lower_columns[e];
      const std::int64_t begin = triangles.upper_offsets[k];
      const std::int64_t end = triangles.upper_offsets[k + 1];
      const std::int64_t place = lower_bound(triangles.upper_columns, begin, end, i);
      const bool stored = place < end && triangles.upper_columns[place] == i;
      transposed[e] = stored ? static_cast<std::int32_t>(place - begin) : 0;
      found = found && stored;
    }
    return {found ? FirstIndex::none : i};
  }
};

/// Fills in the positions of transposed elements and returns whether the pattern is symmetric. Waits.
template <class B, class T>
bool find_transposed(B& backend, Triangles<T>& triangles, Array<std::int32_t>& transposed) {
  if (triangles.lower.nonzeros() != triangles.upper.nonzeros()) return false;
  transposed = Array<std::int32_t>(backend.device(), triangles.lower.nonzeros());
  Array<FirstIndex> missing(backend.device(), 1);
  backend.reduce(triangles.rows(), FindTransposed<T>{TriangleRows<T>(triangles), transposed.data()},
                 Store<FirstIndex>{missing.data()});
  return backend.read(missing.data()).value == FirstIndex::none;
}

/// Makes row i of the lower triangle the adjoint of column i of the upper one.
template <class T>
struct CopyTransposed {
  TriangleRows<T> triangles;
  const std::int32_t* transposed;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    for (std::int64_t e = triangles.lower_offsets[i]; e < triangles.lower_offsets[i + 1]; ++e) {
      const std::int64_t begin = triangles.upper_offsets[triangles.lower_columns[e]];
      triangles.lower_values[e] = conj(triangles.upper_values[begin + transposed[e]]);
    }
  }
};

/// The first pair of elements that a symmetric (Hermitian) positive definite matrix cannot have: a diagonal
/// element that is not positive, or two elements that are not conjugates of each other.
template <class T>
struct NotDefinite {
  std::int64_t row = FirstIndex::none;
  std::int64_t column = 0;
  Dot<T> element = 0;
  Dot<T> transposed = 0;
  friend ECHELON_ANYWHERE NotDefinite combine(const NotDefinite& a, const NotDefinite& b) {
    return a.row < b.row ? a : b;
  }
};

/// Compares row i of the lower triangle with the adjoint of column i of the upper one. Elements may differ by
/// `tolerance` sqrt(a_ii a_kk), and the diagonal may have imaginary parts of `tolerance` a_ii.
template <class T>
struct FindNotDefinite {
  TriangleRows<T> triangles;
  const std::int32_t* transposed;
  Real<T> tolerance;
  ECHELON_ANYWHERE NotDefinite<T> operator()(std::int64_t i) const {
    const T diagonal_element = triangles.upper_values[triangles.upper_diagonal(i)];
    const Real<T> a_ii = real_part(diagonal_element);
    if (!(a_ii > 0) || magnitude(diagonal_element - conj(diagonal_element)) > 2 * tolerance * a_ii)
      return {i, i, static_cast<Dot<T>>(diagonal_element), static_cast<Dot<T>>(diagonal_element)};
    for (std::int64_t e = triangles.lower_offsets[i]; e < triangles.lower_diagonal(i); ++e) {
      const std::int32_t k = triangles.lower_columns[e];
      const std::int64_t diagonal = triangles.upper_diagonal(k);
      const T a_ik = triangles.lower_values[e];
      const T a_ki = triangles.upper_values[diagonal + transposed[e]];
      const Real<T> scale = std::sqrt(a_ii) * std::sqrt(real_part(triangles.upper_values[diagonal]));
      if (magnitude(a_ik - conj(a_ki)) > tolerance * scale)
        return {i, k, static_cast<Dot<T>>(a_ik), static_cast<Dot<T>>(a_ki)};
    }
    return {};
  }
};

}  // namespace echelon::incomplete

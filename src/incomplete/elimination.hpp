// SPDX-License-Identifier: BSD-3-Clause
/// Arithmetic of incomplete factorisations. This is the only place that fixes the order of operations, so
/// every backend computes the same bits with any number of threads.
///
/// Row i is computed from finished rows k < i. For each stored a_ik, in ascending order of k,
///
///   a_ij = fma(-m, u_kj, a_ij)   for all stored a_ij with j > k (ILU) or j >= i (IC) for which row k stores
///   u_kj,
///
/// where the multiplier m is l_ik = a_ik / u_kk for A = L U, and conj(u_ki) for A = U^H U. At the end U^H U
/// divides what is now row i of the upper triangle by the square root of its diagonal element. All products
/// are subtracted by explicit fma, so contraction by the compiler changes nothing.
#pragma once

#include "incomplete/triangles.hpp"
#include "relaxation/gauss_seidel/row.hpp"
#include "support/scalar.hpp"

#include <cmath>
#include <cstdint>

namespace echelon::incomplete {

using gauss_seidel::multiply_add;

/// Divisor of a row of the upper triangle at the end, and its diagonal elements then.
template <class T>
struct FinishedPivot {
  T divisor;
  T lower_diagonal;
  T upper_diagonal;
};

// For position e of the lower triangle, element (i, k), the members of an elimination tell:
//
//   first(e, k)          the position in the upper triangle of the element that determines the multiplier;
//   multiplier(a_ik, x)  the multiplier, given both elements; the elements before a_ik have been eliminated;
//   skipped              1 if products begin with the element after x, 0 if they begin with x;
//   changes_lower        whether products are subtracted from both triangles, or from the upper one only;
//   accepts(pivot, a_ii) whether triangular solves can divide by the pivot of row i;
//   divides_rows         whether FinishedPivot::divisor is not 1.

/// ILU(0), A = L U on the pattern of A, with a unit diagonal in L.
template <class T>
struct LuElimination {
  using Element = T;
  static constexpr int skipped = 1;
  static constexpr bool changes_lower = true;
  static constexpr bool divides_rows = false;

  TriangleRows<T> triangles;

  [[nodiscard]] ECHELON_ANYWHERE std::int64_t first(std::int64_t /*e*/, std::int32_t k) const {
    return triangles.upper_diagonal(k);
  }
  [[nodiscard]] ECHELON_ANYWHERE T multiplier(T a_ik, T u_kk) const { return a_ik / u_kk; }
  [[nodiscard]] ECHELON_ANYWHERE bool accepts(T pivot, T /*a_ii*/) const {
    return is_finite(pivot) && is_finite(T{1} / pivot);
  }
  [[nodiscard]] ECHELON_ANYWHERE FinishedPivot<T> finish(T pivot) const { return {T{1}, T{1}, pivot}; }
};

/// IC(0), A = U^H U on the pattern of A. The lower triangle provides columns and the diagonal of A; its other
/// values are not used.
template <class T>
struct CholeskyElimination {
  using Element = T;
  static constexpr int skipped = 0;
  static constexpr bool changes_lower = false;
  static constexpr bool divides_rows = true;

  TriangleRows<T> triangles;
  /// For position e of the lower triangle, element (i, k): the number of elements before (k, i) in row k of
  /// the upper triangle.
  const std::int32_t* transposed;
  Real<T> smallest_pivot;  ///< relative to the diagonal element of A

  [[nodiscard]] ECHELON_ANYWHERE std::int64_t first(std::int64_t e, std::int32_t k) const {
    return triangles.upper_diagonal(k) + transposed[e];
  }
  [[nodiscard]] ECHELON_ANYWHERE T multiplier(T /*a_ik*/, T u_ki) const { return conj(u_ki); }
  [[nodiscard]] ECHELON_ANYWHERE bool accepts(T pivot, T a_ii) const {
    return real_part(pivot) > smallest_pivot * real_part(a_ii) && is_finite(pivot);
  }
  [[nodiscard]] ECHELON_ANYWHERE FinishedPivot<T> finish(T pivot) const {
    const T root = std::sqrt(real_part(pivot));
    return {root, root, root};
  }
};

/// Ends row i, from which all products have been subtracted; returns whether its pivot is accepted.
template <class Elimination>
ECHELON_ANYWHERE bool finish_row(const Elimination& elimination, std::int64_t i) {
  using T = typename Elimination::Element;
  const TriangleRows<T> rows = elimination.triangles;
  const std::int64_t lower = rows.lower_diagonal(i);
  const std::int64_t upper = rows.upper_diagonal(i);
  const T pivot = rows.upper_values[upper];
  if (!elimination.accepts(pivot, rows.lower_values[lower])) return false;
  const FinishedPivot<T> finished = elimination.finish(pivot);
  for (std::int64_t m = upper + 1; Elimination::divides_rows && m < rows.upper_offsets[i + 1]; ++m) {
    rows.upper_values[m] /= finished.divisor;
  }
  rows.upper_values[upper] = finished.upper_diagonal;
  rows.lower_values[lower] = finished.lower_diagonal;
  return true;
}

}  // namespace echelon::incomplete

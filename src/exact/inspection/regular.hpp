// SPDX-License-Identifier: BSD-3-Clause
/// Proofs that a matrix is nonsingular, or positive definite, by inspection of its elements.
#pragma once

#include "exact/inspection/triangular_shape.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/matrix.hpp>
#include <echelon/matrix/scalar.hpp>

#include <optional>

namespace echelon {

/// The triangles that hold all nonzeros of a square A without a zero on its diagonal; empty for another A. A
/// copy is made of a matrix on a GPU.
template <class T>
[[nodiscard]] std::optional<TriangularShape> regular_triangle(const MatrixRef<T>& A);

/// Whether a square A is weakly chained diagonally dominant, and therefore nonsingular: each |a_ii| is at
/// least the sum of the other magnitudes of its row, and from each row a chain of nonzero elements leads to a
/// row where it is larger. The sums are formed without rounding error; rows whose excess may be a rounding
/// error of the diagonal element, as that of a few rows of a small component, prove nothing. Ends at the
/// first row that is not dominant; O(nonzeros) otherwise. A copy is made of a matrix on a GPU. P. N.
/// Shivakumar, K. H. Chew, A sufficient condition for nonvanishing of determinants, Proc. Amer. Math. Soc. 43
/// (1974).
template <class T>
[[nodiscard]] bool is_chained_dominant(const MatrixRef<T>& A);

/// Whether one of the two holds: A is nonsingular, and so is each matrix that differs from A by rounding
/// errors of few elements, however close A is to a singular matrix.
template <class T>
[[nodiscard]] bool is_regular_by_inspection(const MatrixRef<T>& A);
/// Nothing is proven of complex matrices.
template <class T>
requires is_complex<T>
[[nodiscard]] bool is_regular_by_inspection(const MatrixRef<T>& /*A*/) {
  return false;
}

/// Whether A is weakly chained diagonally dominant, exactly symmetric, and has a positive diagonal, which
/// makes it positive definite.
template <class T>
[[nodiscard]] bool is_definite_by_inspection(const MatrixRef<T>& A);

}  // namespace echelon

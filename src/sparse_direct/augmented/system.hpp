// SPDX-License-Identifier: BSD-3-Clause
/// The symmetric matrix whose factors solve least-squares problems.
#pragma once

#include <echelon/matrix/matrix.hpp>

#include <cstdint>
#include <vector>

namespace echelon::augmented {

/// A tall matrix S = A E, or A^T E for a wide A, whose columns E scales by powers of two if their sizes
/// differ by more than six decades. S = D A E if the residual need not be the least one, where D scales the
/// rows first in the same way.
struct TallMatrix {
  Csr<double> matrix, transpose;
  std::vector<int> exponents;      ///< of the columns; empty: E = I
  std::vector<int> row_exponents;  ///< empty: D = I
  bool wide = false;               ///< S = A^T E
  double largest = 0;              ///< magnitude of an element
  double norm = 0;                 ///< upper bound of ||S||_2

  [[nodiscard]] std::int64_t order() const { return matrix.rows() + matrix.columns(); }
  /// Factor of column j.
  [[nodiscard]] double scale(std::int64_t j) const;
  /// Factor of row i.
  [[nodiscard]] double row_scale(std::int64_t i) const;
};

/// The tall matrix of a finite A in host memory.
template <class T>
[[nodiscard]] TallMatrix make_tall(const MatrixRef<T>& A, bool scales_rows);

/// The matrix [s I, S; S^T, -(d^2 E^2 + shift I) / s] with d the damping; with s = 0 both of
/// its diagonal blocks are zero.
[[nodiscard]] Csr<double> make_augmented(const TallMatrix& S, double s, double damping, double shift);

}  // namespace echelon::augmented

// SPDX-License-Identifier: BSD-3-Clause
/// Factors, permutations and scales as matrices, for files and other languages.
#pragma once

#include <echelon/export.h>
#include <echelon/solver/any_solver.hpp>
#include <echelon/solver/factors.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace echelon {

/// A factor by its name in the equation of FactorMatrices.
struct ECHELON_API FactorMatrix {
  std::string name;  ///< one letter: L, U, D, F, P, Q, R or C
  OfAnyScalar<Matrix> matrix;
};

/// The factors of A as n by n matrices on the host.
struct ECHELON_API FactorMatrices {
  /// The equation that holds up to rounding errors, such as "P R A C Q = L U", with the names of `matrices`:
  /// permutations P and Q, diagonal matrices R and C of scales, which have the power of two of MatrixFactors,
  /// the factors L and U, block diagonal D, and F of LU with blocks. Those that are the identity, or zero,
  /// are left out.
  std::string equation;
  /// In the order of the equation. L, U, D and F have elements of the type of A, the others of double.
  std::vector<FactorMatrix> matrices;

  /// The matrix of this name; null if it is not in the equation.
  [[nodiscard]] const OfAnyScalar<Matrix>* find(std::string_view name) const;
};

/// Makes matrices of permutations and scales, and moves the factors; T is one of the scalars of OfAnyScalar.
/// O(n) time and memory.
template <class T>
[[nodiscard]] ECHELON_API FactorMatrices factor_matrices(MatrixFactors<T> factors);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API AugmentedOptions {
  static constexpr std::string_view name = "augmented";
  static constexpr Targets targets = Targets::host;
  static constexpr bool takes_complex = true;
  /// The d of min ||b - A x||_2^2 + d^2 ||x||_2^2, at least 0.
  double damping = 0;
  /// Largest number of corrections of x, 0 to 20; at least 20 where A is rank-deficient.
  std::int64_t refine = 2;

  /// Describes each option.
  static std::vector<Option<AugmentedOptions>> table();
};

/// Least squares for a sparse A of any shape, and the solution of least norm of an underdetermined system, by
/// a factorisation L D L^T of
///
///   [ s I      A      ] [ r / s ]   [ b ]
///   [ A^T  -d^2 / s I ] [   x   ] = [ 0 ]
///
/// with A^H in the place of A^T for complex numbers, or, for a wide A, of the same with A^T in place of A and
/// b below. The inertia of the matrix tells the rank; a rank-deficient A is solved by a small d, whose effect
/// corrections of x remove: x has then the least norm. The factorisation is that of `sparse-ldlt`, in double.
/// A dense A is converted.
///
/// M. Arioli, I. S. Duff, P. P. M. de Rijk, On the augmented system approach to sparse least-squares
/// problems, Numer. Math. 55 (1989); J. D. Riley, Solving systems of linear equations with a positive
/// definite, symmetric, but possibly ill-conditioned matrix, Math. Tables Aids Comput. 9 (1955).
template <class T>
using Augmented = SolverOf<T, AugmentedOptions>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API SsorOptions {
  static constexpr std::string_view name = "ssor";
  static constexpr Targets targets = Targets::all;
  static constexpr bool takes_complex = true;
  static constexpr bool takes_complex_on_cuda = true;
  /// Stopping criteria.
  Stop stop = {};
  /// Relaxation factor, 0 < omega < 2; 1 is symmetric Gauss-Seidel.
  double omega = 1;
  /// Symmetric sweeps per application as a preconditioner, 1 to 1000.
  std::int64_t sweeps = 1;
  /// Sweeps between two computations of b - A x, each as costly as a sweep; 1 to 1000.
  std::int64_t residual_every = 4;

  /// Describes each option.
  static std::vector<Option<SsorOptions>> table();
};

/// Symmetric successive over-relaxation: a forward sweep and a backward one. As a preconditioner it starts
/// from x = 0 and is symmetric positive definite when A is, as CG requires.
/// Converges for symmetric positive definite A. Sheldon, Math. Tables Aids Comput. 9 (1955); Axelsson, BIT 12
/// (1972). Costs two sweeps; 2 n elements are held.
template <class T>
using Ssor = SolverOf<T, SsorOptions>;

}  // namespace echelon

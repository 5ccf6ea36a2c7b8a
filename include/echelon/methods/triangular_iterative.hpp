// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API TriangularIterativeOptions {
  static constexpr std::string_view name = "triangular-iterative";
  static constexpr Targets targets = Targets::all;
  /// Stopping criteria.
  Stop stop = {};

  /// Describes each option.
  static std::vector<Option<TriangularIterativeOptions>> table();
};

/// Jacobi sweeps x <- D^-1 (b - N x) for a triangular A = D + N, dense or sparse, lower or upper. Every
/// unknown is exact, up to rounding, one sweep after those that it depends on, so all are exact after as many
/// sweeps as the longest chain of dependencies has unknowns, at most n. Before that, iterates for matrices
/// that are not diagonally dominant may overflow T. A sweep costs 2 flops for each nonzero and reads A once;
/// a complete substitution costs as much. The set-up reports `breakdown` for an A with nonzero elements on
/// both sides of the diagonal, and `singular` for a zero on the diagonal.
/// Anzt, Chow, Dongarra: Iterative sparse triangular solves for preconditioning, Euro-Par 2015.
template <class T>
using TriangularIterative = SolverOf<T, TriangularIterativeOptions>;

}  // namespace echelon

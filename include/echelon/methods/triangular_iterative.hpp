// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/solver.hpp>

#include <string_view>
#include <vector>

namespace echelon {

struct TriangularIterativeOptions {
  static constexpr std::string_view name = "triangular-iterative";
  static constexpr Targets targets = Targets::both;
  /// When to stop.
  Stop stop = {};

  static std::vector<Option<TriangularIterativeOptions>> table() {
    return with_stop_options<TriangularIterativeOptions>({});
  }
};

/// Jacobi sweeps x <- D^-1 (b - N x) for a triangular A = D + N, dense or sparse, lower or upper. Every
/// unknown is exact, up to rounding, one sweep after those that it depends on: all of them after as many
/// sweeps as the longest chain of dependencies has unknowns, n at most. Before that, iterates of matrices
/// that are not dominant may grow beyond the range of T. A sweep costs 2 flops for each nonzero and reads A
/// once; substitution costs as much in all. The set-up reports `breakdown` for an A with nonzero elements on
/// both sides of the diagonal, and `singular` for a zero on it.
/// Anzt, Chow, Dongarra: Iterative sparse triangular solves for preconditioning, Euro-Par 2015.
template <class T>
using TriangularIterative = SolverOf<T, TriangularIterativeOptions>;

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/solver.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace echelon {

/// Options that multigrid along a line has for sparse and for dense A.
template <class O>
std::vector<Option<O>> line_multigrid_options() {
  return with_stop_options<O>(
      {{"sweeps",
        +[](O& o) -> std::int64_t& { return o.sweeps; },
        "Jacobi sweeps before, and after, each coarse correction",
        {1, 100}},
       {"weight",
        +[](O& o) -> std::optional<double>& { return o.weight; },
        "weight of the sweeps; auto: 4 / (3 lambda), lambda being the largest eigenvalue of D^-1 A",
        {0, 2, true, true},
        {"auto"}},
       {"coarse_size",
        +[](O& o) -> std::int64_t& { return o.coarse_size; },
        "rows up to which a level is solved by elimination",
        {1, 10000}},
       {"max_levels", +[](O& o) -> std::int64_t& { return o.max_levels; }, "levels at most", {1, 50}}});
}

struct MultigridOptions {
  static constexpr std::string_view name = "multigrid";
  static constexpr Targets targets = Targets::both;
  /// Stopping criteria.
  Stop stop = {};
  /// Jacobi sweeps before, and after, each coarse correction, 1 to 100.
  std::int64_t sweeps = 2;
  /// Weight of the Jacobi sweeps, 0 < weight < 2; not set: 4 / (3 lambda) with the largest eigenvalue lambda
  /// of D^-1 A.
  std::optional<double> weight = {};
  /// Largest number of rows of a level that is solved by elimination, 1 to 10000.
  std::int64_t coarse_size = 500;
  /// Largest number of levels, 1 to 50.
  std::int64_t max_levels = 25;

  static std::vector<Option<MultigridOptions>> table() { return line_multigrid_options<MultigridOptions>(); }
};

/// Multigrid for sparse A whose unknowns are numbered along a line: V-cycles with weighted Jacobi sweeps,
/// linear interpolation between every other unknown, Galerkin's coarse matrices, and elimination on the
/// coarsest level. Coarsening does not depend on the elements of A, as it does in `amg`, so convergence is
/// fast only if unknowns with neighbouring numbers have similar errors. For symmetric positive definite A a
/// cycle is symmetric positive definite, so that it preconditions `cg`.
template <class T>
using Multigrid = SolverOf<T, MultigridOptions>;

}  // namespace echelon

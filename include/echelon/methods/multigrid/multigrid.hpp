// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/solver.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace echelon {

struct MultigridOptions {
  static constexpr std::string_view name = "multigrid";
  static constexpr Targets targets = Targets::both;
  /// When to stop.
  Stop stop = {};
  /// Jacobi sweeps before, and after, each coarse correction, 1 to 100.
  std::int64_t sweeps = 2;
  /// Weight of the sweeps, 0 < weight < 2; not set: 4 / (3 lambda) with the largest eigenvalue lambda of D^-1
  /// A.
  std::optional<double> weight = {};
  /// Rows up to which a level is solved by elimination, 1 to 10000.
  std::int64_t coarse_size = 500;
  /// Levels at most, 1 to 50.
  std::int64_t max_levels = 25;

  static std::vector<Option<MultigridOptions>> table() {
    using O = MultigridOptions;
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
};

/// Multigrid for sparse A whose unknowns are numbered along a line, whatever A: V-cycles with weighted Jacobi
/// sweeps, linear interpolation between every other unknown, Galerkin's coarse matrices, and elimination on
/// the coarsest level. It converges quickly where neighbours in the numbering have similar errors; `amg`
/// looks at A itself. For symmetric positive definite A a cycle is symmetric positive definite, so that it
/// preconditions `cg`.
template <class T>
using Multigrid = SolverOf<T, MultigridOptions>;

}  // namespace echelon

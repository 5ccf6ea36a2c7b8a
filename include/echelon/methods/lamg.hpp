// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct LamgOptions {
  static constexpr std::string_view name = "lamg";
  static constexpr Targets targets = Targets::both;
  /// Stopping criteria.
  Stop stop = {};
  /// Visits of a level per visit of the next finer level, 1 to 2.
  double cycle_index = 1.5;
  /// Gauss-Seidel sweeps before the coarse correction, 0 to 10.
  std::int64_t pre_sweeps = 1;
  /// Gauss-Seidel sweeps after the coarse correction, 1 to 10.
  std::int64_t post_sweeps = 2;
  /// Number of iterates that are recombined for the smallest residual, 0 to 4; 0: none.
  std::int64_t combined_iterates = 4;
  /// Number of Gauss-Seidel sweeps that turn random vectors into test vectors, 1 to 20.
  std::int64_t test_sweeps = 4;
  /// Threshold of strong edges, 0 to 1, relative to the largest weights at both ends; lighter edges are not
  /// strong.
  double strength = 0.1;
  /// Threshold of aggregation, 0 to 1: a vertex joins no aggregate across an edge lighter than this fraction
  /// of its own heaviest edge.
  double veto = 0.05;
  /// Largest growth of a test vector's local energy with which a vertex may join an aggregate, 1 or more.
  double energy_ratio = 2.5;
  /// Largest number of aggregates, 1 or 2, from which a vertex is interpolated. With 2, a level is
  /// interpolated from second aggregates if three tenths of its vertices lie between two, as on anisotropic
  /// grids.
  std::int64_t caliber = 2;
  /// Largest number of vertices of a level that is solved directly, 1 to 2000.
  std::int64_t coarse_size = 100;
  /// Largest number of levels, 1 to 100.
  std::int64_t max_levels = 100;
  /// Make levels and cycles in parallel on a host device, too, as on a GPU.
  bool parallel = false;
  /// Predicted number of iterations of conjugate gradients with the diagonal up to which the parallel
  /// algorithm makes no levels. 0: always make them, for many right-hand sides.
  std::int64_t jacobi_iterations = 100;
  /// Report a b that does not sum to zero over every component as `inconsistent` instead of removing its
  /// mean.
  bool strict = false;

  static std::vector<Option<LamgOptions>> table() {
    return with_stop_options<LamgOptions>(
        {{"cycle_index",
          +[](LamgOptions& o) -> double& { return o.cycle_index; },
          "visits of a level for each one of the finer level",
          {1, 2}},
         {"pre_sweeps",
          +[](LamgOptions& o) -> std::int64_t& { return o.pre_sweeps; },
          "Gauss-Seidel sweeps before the coarse correction",
          {0, 10}},
         {"post_sweeps",
          +[](LamgOptions& o) -> std::int64_t& { return o.post_sweeps; },
          "Gauss-Seidel sweeps after the coarse correction",
          {1, 10}},
         {"combined_iterates",
          +[](LamgOptions& o) -> std::int64_t& { return o.combined_iterates; },
          "iterates that are recombined for the smallest residual; 0: none",
          {0, 4}},
         {"test_sweeps",
          +[](LamgOptions& o) -> std::int64_t& { return o.test_sweeps; },
          "Gauss-Seidel sweeps that make test vectors of random vectors",
          {1, 20}},
         {"strength",
          +[](LamgOptions& o) -> double& { return o.strength; },
          "edges of less than this part of the largest ones at both ends are not strong",
          {0, 1}},
         {"veto",
          +[](LamgOptions& o) -> double& { return o.veto; },
          "a vertex joins no aggregate across an edge of less than this part of its own largest",
          {0, 1}},
         {"energy_ratio",
          +[](LamgOptions& o) -> double& { return o.energy_ratio; },
          "growth of a test vector's local energy up to which a vertex may join an aggregate",
          {1, 1e30}},
         {"caliber",
          +[](LamgOptions& o) -> std::int64_t& { return o.caliber; },
          "largest number of aggregates from which a vertex is interpolated",
          {1, 2}},
         {"coarse_size",
          +[](LamgOptions& o) -> std::int64_t& { return o.coarse_size; },
          "vertices up to which a level is solved directly",
          {1, 2000}},
         {"max_levels",
          +[](LamgOptions& o) -> std::int64_t& { return o.max_levels; },
          "levels at most",
          {1, 100}},
         {"parallel", +[](LamgOptions& o) -> bool& { return o.parallel; },
          "on the host, too, the parallel algorithm of the GPU, which takes one core 1.4 to 2.5 times as "
          "long"},
         {"jacobi_iterations",
          +[](LamgOptions& o) -> std::int64_t& { return o.jacobi_iterations; },
          "in parallel: no levels where CG with the diagonal is predicted to need at most so many iterations",
          {0}},
         {"strict", +[](LamgOptions& o) -> bool& { return o.strict; },
          "call a b that does not sum to zero over every component inconsistent, in place of the removal of "
          "its mean"}});
  }
};

/// Lean algebraic multigrid for the Laplacian of any graph, and for symmetric diagonally dominant matrices,
/// which are transformed to Laplacians: exact elimination of vertices with few neighbours, aggregation by
/// affinity, and cycles with recombined iterates. Set-up and a cycle cost O(edges). The cycle is not linear:
/// as a preconditioner it needs a flexible method, such as cg. O. Livne, A. Brandt, Lean algebraic multigrid
/// (LAMG): Fast graph Laplacian linear solver, SIAM J. Sci. Comput. 34 (2012).
template <class T>
using Lamg = SolverOf<T, LamgOptions>;

}  // namespace echelon

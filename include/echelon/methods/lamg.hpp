// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/export.h>
#include <echelon/solver.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace echelon {

struct ECHELON_API LamgOptions {
  static constexpr std::string_view name = "lamg";
  static constexpr Targets targets = Targets::all;
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
  /// Largest number of levels, without those of eliminations, 1 to 100.
  std::int64_t max_levels = 100;
  /// Make levels and cycles in parallel on a host device, too, as on a GPU.
  bool parallel = false;
  /// Predicted number of iterations of conjugate gradients with the diagonal up to which the parallel
  /// algorithm makes no levels. 0: always make them, for many right-hand sides.
  std::int64_t jacobi_iterations = 100;

  /// Describes each option.
  static std::vector<Option<LamgOptions>> table();
};

/// Lean algebraic multigrid for the Laplacian of any graph, and for symmetric diagonally dominant matrices,
/// which are transformed to Laplacians: exact elimination of vertices with few neighbours, aggregation by
/// affinity, and cycles with recombined iterates. Set-up and a cycle cost O(edges). The cycle is not linear:
/// as a preconditioner it needs a flexible method, such as cg. O. Livne, A. Brandt, Lean algebraic multigrid
/// (LAMG): Fast graph Laplacian linear solver, SIAM J. Sci. Comput. 34 (2012).
template <class T>
using Lamg = SolverOf<T, LamgOptions>;

}  // namespace echelon

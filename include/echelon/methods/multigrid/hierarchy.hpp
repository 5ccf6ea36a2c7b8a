// SPDX-License-Identifier: BSD-3-Clause
/// Hierarchies of multigrid methods: their description, and hierarchies with user-defined prolongations.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/csr.hpp>
#include <echelon/methods/amg.hpp>
#include <echelon/solver.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

/// One level of a hierarchy, finest first.
struct ECHELON_API LevelDescription {
  std::int64_t rows = 0;
  std::int64_t nonzeros = 0;
  /// Nonzeros of the prolongation to this level; 0 on the coarsest.
  std::int64_t prolongation_nonzeros = 0;
  /// Name of the smoother, or on the coarsest level of the solver.
  std::string method;
  /// Time of the coarsening of this level: prolongation, restriction, and the next level's matrix.
  double seconds = 0;
  /// Memory of the matrices (A of the finest level not counted) and of the smoother.
  std::size_t bytes = 0;
};

struct ECHELON_API HierarchyDescription {
  std::string coarsening;
  /// Reason for this coarsening, if it was chosen by the matrix; otherwise empty.
  std::string coarsening_reason;
  std::vector<LevelDescription> levels;
  /// Number of near-null-space vectors given to the coarsening; 0: constants.
  std::int64_t near_null_space = 0;
  /// Nonzeros, or rows, of all levels as multiples of the finest one's.
  double operator_complexity = 1;
  double grid_complexity = 1;
  /// Reason why the coarsest level was not coarsened further.
  std::string end;
  /// Dimension of the null space of the coarsest matrix, which the coarse solver projects out.
  std::int64_t null_space = 0;
};

/// Description of the hierarchy of a solver that is set up: a multigrid method, or a method preconditioned by
/// one. Throws Error if there is no hierarchy.
template <class T>
[[nodiscard]] ECHELON_API HierarchyDescription describe_hierarchy(const Solver<T>& solver);

/// Matrix of a level, 0 being the finest, on the solver's device; rounded to float if the cycles are in
/// float. Throws Error if there is no such level.
template <class T>
[[nodiscard]] ECHELON_API Csr<T> level_matrix(const Solver<T>& solver, std::size_t level);

/// Multigrid with user-defined prolongations, finest first: prolongations[l] is n_l by n_{l+1}, on `device`,
/// and n_0 is the number of rows of A. Coarse matrices are P^T A P. `options` gives cycle, smoother and the
/// like; options of the coarsening have no effect. update_values of A keeps the prolongations. Throws
/// DimensionMismatch if their shapes do not fit each other (setup throws it if they do not fit A),
/// DeviceMismatch, BadOption, NotBuilt, NoDevice.
template <class T>
[[nodiscard]] ECHELON_API Solver<T> make_multigrid(const Device& device, std::vector<Csr<T>> prolongations,
                                                   const AmgOptions& options = {});

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Hierarchies of multigrid methods: what they consist of, and those of an application's own prolongations.
#pragma once

#include <echelon/matrix/csr.hpp>
#include <echelon/methods/amg.hpp>
#include <echelon/solver.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace echelon {

/// One level of a hierarchy, finest first.
struct LevelDescription {
  std::int64_t rows = 0;
  std::int64_t nonzeros = 0;
  /// Nonzeros of the prolongation to this level; 0 on the coarsest.
  std::int64_t prolongation_nonzeros = 0;
  /// Smoother, or on the coarsest level the solver.
  std::string method;
  /// Time of the coarsening of this level: prolongation, restriction, and the next level's matrix.
  double seconds = 0;
  /// Matrices (A of the finest level not counted) and smoother.
  std::size_t bytes = 0;
};

struct HierarchyDescription {
  std::string coarsening;
  std::vector<LevelDescription> levels;
  /// Near-null-space vectors that coarsening was given; 0: constants.
  std::int64_t near_null_space = 0;
  /// Nonzeros, or rows, of all levels as multiples of the finest one's.
  double operator_complexity = 1;
  double grid_complexity = 1;
  /// Why the coarsest level was not coarsened further.
  std::string end;
  /// Dimension of the null space of the coarsest matrix, which the coarse solver leaves out.
  std::int64_t null_space = 0;
};

/// The hierarchy of a solver that is set up, of a multigrid method or preconditioned by one. Throws Error if
/// there is none.
template <class T>
[[nodiscard]] HierarchyDescription describe_hierarchy(const Solver<T>& solver);

/// Matrix of a level, 0 being the finest, on the solver's device. Throws Error if there is no such level.
template <class T>
[[nodiscard]] Csr<T> level_matrix(const Solver<T>& solver, std::size_t level);

/// Multigrid with a user's own prolongations, finest first: prolongations[l] is n_l by n_{l+1}, with n_0 the
/// rows of the A that is to be solved, on `device`. Coarse matrices are P^T A P. `options` gives cycle,
/// smoother and the like; what belongs to coarsening is without effect. update_values of A keeps the
/// prolongations. Throws DimensionMismatch if shapes do not fit each other, and setup if they do not fit A;
/// DeviceMismatch, BadOption, NotBuilt, NoDevice.
template <class T>
[[nodiscard]] Solver<T> make_multigrid(const Device& device, std::vector<Csr<T>> prolongations,
                                       const AmgOptions& options = {});

}  // namespace echelon

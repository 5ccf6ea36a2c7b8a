// SPDX-License-Identifier: BSD-3-Clause
/// Near-null-space vectors for algebraic multigrid: the errors that smoothing leaves and coarse levels must
/// be able to represent.
#pragma once

#include <echelon/export.h>
#include <echelon/matrix/dense.hpp>
#include <echelon/solver.hpp>

#include <cstdint>
#include <span>

namespace echelon {

/// Rigid-body modes of an elastic body: translations, and rotations about its centre. `coordinates`, on the
/// host, has a row for each node and a column for each of 1 to 3 dimensions. The result, on the host, has a
/// row for each unknown, numbered node after node, and 1, 3 or 6 columns of similar norms. If some unknowns
/// have been eliminated, `unknowns` gives the unknown of each row of A, dimensions * node + component.
/// Throws DimensionMismatch for other numbers of columns, and Error for coordinates that are not finite or an
/// unknown that is out of range.
[[nodiscard]] ECHELON_API Dense<double> rigid_body_modes(const Dense<double>& coordinates,
                                                         std::span<const std::int64_t> unknowns = {});

/// Gives `vectors` (a column for each vector, a row for each of A, on the host) to a solver for later
/// set-ups; without columns, constants are restored. Those that a symmetric sparse A maps to zero are
/// projected out of b and x. `amg`, and methods that it preconditions, then coarsen by aggregation. The
/// set-up throws DimensionMismatch if A has another number of rows, and Error if an element is not finite;
/// that of `amg` also Error if all are zero, and BadOption if classical coarsening is requested.
template <class T>
ECHELON_API void set_near_null_space(Solver<T>& solver, const Dense<double>& vectors);

}  // namespace echelon

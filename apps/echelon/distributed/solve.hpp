// SPDX-License-Identifier: BSD-3-Clause
/// Solve on several processes by PETSc with Echelon's factorisations.
#pragma once

#include <echelon/matrix/matrix.hpp>
#include <echelon/solve.hpp>

#include <cstdint>

namespace echelon::tool {

/// Checks, before the matrix is read, that PETSc and mpirun are there and that the options exist. Throws
/// NotBuilt, BadOption.
void check_distributed(const SolveOptions& options, std::int64_t ranks);

/// Solves A X = B in `ranks` processes of the program echelon-petsc-solve, to which A and B go in files. The
/// residuals of the report are computed here. Throws BadOption, NotBuilt, DimensionMismatch, and
/// ProcessFailure if a process ended before the system was solved; a lack of memory that a process noticed is
/// a status.
[[nodiscard]] Solution<double> solve_distributed(MatrixRef<double> A, DenseView<const double> B,
                                                 const SolveOptions& options, std::int64_t ranks);

}  // namespace echelon::tool

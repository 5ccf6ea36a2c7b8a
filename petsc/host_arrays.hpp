// SPDX-License-Identifier: BSD-3-Clause
/// Solvers of any device for vectors in the memory of the host.
#pragma once

#include <echelon/report.hpp>
#include <echelon/solver/preconditioner_application.hpp>

#include <functional>

namespace echelon::petsc {

/// z = M^-1 r for each column; a GPU's vectors are copied in both directions.
void apply(PreconditionerApplication<double>& application, const Device& device, DenseView<const double> r,
           DenseView<double> z);

/// Calls solve(B, X) with views in the memory of the device.
Report solve_on(const Device& device, DenseView<const double> B, DenseView<double> X,
                const std::function<Report(DenseView<const double>, DenseView<double>)>& solve);

/// Fills X with Inf, which PETSc takes for the result of a solve that failed.
void fill_infinite(DenseView<double> X);

}  // namespace echelon::petsc

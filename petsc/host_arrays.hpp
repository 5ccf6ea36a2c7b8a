// SPDX-License-Identifier: BSD-3-Clause
/// Solvers of any device for vectors in the memory of the host.
#pragma once

#include <echelon/matrix/dense.hpp>
#include <echelon/report.hpp>

#include <functional>

namespace echelon::petsc {

/// Calls apply(R, Z) with views in the memory of the device; a GPU's vectors are copied in both directions.
void apply_on(const Device& device, DenseView<const double> r, DenseView<double> z,
              const std::function<void(DenseView<const double>, DenseView<double>)>& apply);

/// Calls solve(B, X) with views in the memory of the device.
Report solve_on(const Device& device, DenseView<const double> B, DenseView<double> X,
                const std::function<Report(DenseView<const double>, DenseView<double>)>& solve);

/// Fills X with Inf, which PETSc takes for the result of a solve that failed.
void fill_infinite(DenseView<double> X);

}  // namespace echelon::petsc

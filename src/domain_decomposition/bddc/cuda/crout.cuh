// SPDX-License-Identifier: BSD-3-Clause
/// Inverses of local Schur complements by Crout's iteration on a GPU.
#pragma once

#include "domain_decomposition/bddc/cuda/schur.cuh"
#include "domain_decomposition/bddc/local/factor.hpp"

#include <echelon/cancellation.hpp>
#include <echelon/matrix/dense.hpp>

namespace echelon::bddc {

/// The inverse of a G with a positive diagonal by the factors of factor_dense() with crout-iterative, which
/// are computed in place of G, made symmetric. Both matrices are on the GPU. Waits.
[[nodiscard]] Outcome invert_by_crout(DeviceTools& tools, Dense<double>& G, const CroutSettings& settings,
                                      const CancellationToken& cancel, DenseView<double> inverse);

}  // namespace echelon::bddc

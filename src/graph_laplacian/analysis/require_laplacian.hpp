// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>

namespace echelon::graph {

/// Throws InvalidMatrix, which names a row, unless the host matrix A is the Laplacian of a graph: square,
/// symmetric, without positive off-diagonal elements, and with zero row sums up to rounding.
void require_laplacian(const Csr<double>& A);

}  // namespace echelon::graph

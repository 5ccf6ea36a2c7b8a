// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>

namespace echelon::graph {

/// Throws InvalidMatrix, naming a row, unless the host matrix is the Laplacian of a graph.
void require_laplacian(const Csr<double>& A);

}  // namespace echelon::graph

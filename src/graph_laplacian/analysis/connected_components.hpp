// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/graph/analysis.hpp>

namespace echelon::graph {

/// components() of a host matrix that is known to be symmetric.
Components connected_components(const Csr<double>& A);

}  // namespace echelon::graph

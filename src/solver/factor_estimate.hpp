// SPDX-License-Identifier: BSD-3-Clause
/// Estimated cost of a sparse factorisation of a large matrix, for the choice of a method.
#pragma once

#include <echelon/matrix/csr.hpp>
#include <echelon/solver.hpp>

namespace echelon {

/// Estimates the cost of a sparse LU factorisation of a large square A on the host from those of two
/// principal submatrices, of rows that are near each other in A's graph: flops and bytes are taken to grow
/// with the same power of the order as between these. Some 0.1 s, whatever the order of A. Within a factor of
/// about 3 for meshes. Defined with the methods.
template <class T>
[[nodiscard]] CostPrediction estimate_factor_cost(const Csr<T>& A);

}  // namespace echelon

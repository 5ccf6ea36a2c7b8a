// SPDX-License-Identifier: BSD-3-Clause
/// Inverse for the coarsest Laplacian.
#pragma once

#include "multigrid/coarse_solvers/dense_inverse.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>

namespace echelon::lamg::parallel {

/// Inverse of L + the sum over the components c of d_c 1_c 1_c^T / n_c, with d_c the mean diagonal element of
/// the component, n_c its number of vertices and 1_c its indicator vector: for a b that sums to zero over
/// every component, a solution of L x = b of mean zero. The diagonal of L is computed anew from the weights.
/// The matrix is formed and inverted on the host; 3 n^3 flops.
template <class T>
[[nodiscard]] multigrid::DenseInverse<T> regularised_inverse(const Csr<T>& L);

}  // namespace echelon::lamg::parallel

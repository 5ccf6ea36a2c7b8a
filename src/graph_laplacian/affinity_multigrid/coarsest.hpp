// SPDX-License-Identifier: BSD-3-Clause
/// Inverse for the coarsest Laplacian.
#pragma once

#include "multigrid/coarse_solvers/dense_inverse.hpp"

#include <echelon/matrix/csr.hpp>

#include <cstdint>
#include <vector>

namespace echelon::affinity_multigrid {

/// Multiples of 1_c 1_c^T, for the indicator vectors 1_c of the components c, that make a Laplacian regular.
struct ComponentShifts {
  std::vector<std::int32_t> component;  ///< of each vertex
  std::vector<double> shift;            ///< of each component: mean diagonal element / number of vertices
};

/// The shifts for a Laplacian on the host. The diagonal is computed anew from the weights.
template <class T>
[[nodiscard]] ComponentShifts component_shifts(const Csr<T>& L);

/// Inverse of L + the sum of the shifts: for a b that sums to zero over every component, a solution of
/// L x = b of mean zero. The diagonal of L is computed anew from the weights. The matrix is formed and
/// inverted on the host; 3 n^3 flops.
template <class T>
[[nodiscard]] multigrid::DenseInverse<T> regularised_inverse(const Csr<T>& L);

}  // namespace echelon::affinity_multigrid

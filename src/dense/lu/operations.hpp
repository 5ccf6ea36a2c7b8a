// SPDX-License-Identifier: BSD-3-Clause
/// Operations of <echelon/methods/dense/lu_factors.hpp>.
#pragma once

#include "solver/implementation.hpp"

#include <echelon/methods/dense/lu_factors.hpp>

namespace echelon::lu {

// Instantiated for HostTarget and CudaTarget:

/// Factors A, which is in the memory of `device`, in place.
template <class Target, class T>
[[nodiscard]] LuFactors<T> factors_on(const Device& device, Dense<T> A);
/// Copy of L or of U.
template <class Target, class T>
[[nodiscard]] Dense<T> triangle_on(DenseView<const T> factors, bool lower);

}  // namespace echelon::lu

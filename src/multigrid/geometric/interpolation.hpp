// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "matrix/stencil/grid.hpp"

#include <echelon/matrix/csr.hpp>

namespace echelon::multigrid {

/// Makes the prolongation from the coarse grid on `device`, by linear, bilinear or trilinear interpolation
/// with zero boundary values: coarse point j is fine point 2j + 1 in each dimension. Waits.
template <class Target, class T>
[[nodiscard]] Csr<T> interpolation(const Device& device, const Grid& grid);

}  // namespace echelon::multigrid

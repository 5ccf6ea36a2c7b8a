// SPDX-License-Identifier: BSD-3-Clause
/// Product of a stencil matrix with a vector.
#pragma once

#include "backend/targets.hpp"
#include "matrix/stencil/stencil_matrix.hpp"

namespace echelon {

/// y = alpha A x + beta y; x and y do not overlap, and with beta = 0 y is not read. Queues its work without
/// waiting. Memory movement: x and y, and with variable coefficients those of A.
template <class B, class T>
void multiply_stencil(B& backend, const StencilMatrix<T>& A, T alpha, const T* x, T beta, T* y);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Products of float matrices on the tensor cores.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "linalg/blas/float_products.hpp"

#include <echelon/matrix/dense.hpp>

namespace echelon {

/// C = C + A B for column-major views, in TF32 or split TF32, not in_float; sums are in float. The split
/// product uses 3 A.columns() (A.rows() + B.columns()) elements of the backend's workspace.
void add_product_in_tf32(Cuda& backend, FloatProducts products, DenseView<const float> A,
                         DenseView<const float> B, DenseView<float> C);

}  // namespace echelon

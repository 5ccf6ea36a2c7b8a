// SPDX-License-Identifier: BSD-3-Clause
/// Products of float matrices on the tensor cores.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "linalg/blas/float_products.hpp"

#include <echelon/dense.hpp>

namespace echelon {

/// C = C + A B, for column-major views; not in_float. The sums are floats. Three products take scratch memory
/// of the backend: 3 A.columns (A.rows() + B.columns()) elements.
void add_product_in_tf32(Cuda& backend, FloatProducts products, DenseView<const float> A,
                         DenseView<const float> B, DenseView<float> C);

}  // namespace echelon

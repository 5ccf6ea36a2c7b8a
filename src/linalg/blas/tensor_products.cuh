// SPDX-License-Identifier: BSD-3-Clause
/// Products of float matrices on the tensor cores.
#pragma once

#include "backend/cuda/cuda.cuh"
#include "linalg/blas/float_products.hpp"

#include <echelon/matrix/dense.hpp>

namespace echelon {

/// Computes C = C + alpha A B for column-major views with any arithmetic except in_float; sums are in float.
/// Queued on `stream`, which must be that of the backend's cuBLAS handle. Split products use 12 (TF32) or 6
/// (bfloat16) A.columns() (A.rows() + B.columns()) bytes of the backend's workspace.
void add_product_on_tensor_cores(Cuda& backend, cudaStream_t stream, FloatProducts products, float alpha,
                                 DenseView<const float> A, DenseView<const float> B, DenseView<float> C);

}  // namespace echelon

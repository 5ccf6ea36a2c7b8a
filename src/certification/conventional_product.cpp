// SPDX-License-Identifier: BSD-3-Clause
// Host version: BLAS, whose products are conventional in OpenBLAS, BLIS, ATLAS and MKL.
#include "certification/conventional_product.hpp"

#include "linalg/blas/gemm.hpp"

namespace echelon::certification {

void subtract_conventional_product(Host& backend, DenseView<const double> A, DenseView<const double> B,
                                   DenseView<double> C) {
  gemm<double>(backend, -1, A, B, 1, C);
}

}  // namespace echelon::certification

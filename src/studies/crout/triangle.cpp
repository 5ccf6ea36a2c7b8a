// SPDX-License-Identifier: BSD-3-Clause
#include "studies/crout/triangle.hpp"

#include "linalg/blas/blas.hpp"

namespace echelon::crout {

template <class T>
void solve_triangle(Host& /*backend*/, DenseView<const T> factors, PackedTriangle triangle, bool transposed,
                    DenseView<T> X) {
  blas::trsm(triangle.lower ? CblasLower : CblasUpper, transposed ? CblasTrans : CblasNoTrans,
             triangle.unit_diagonal ? CblasUnit : CblasNonUnit, static_cast<int>(X.rows()),
             static_cast<int>(X.columns()), factors.data(), blas::dimension(factors.leading()), X.data(),
             blas::dimension(X.leading()));
}

template void solve_triangle(Host&, DenseView<const float>, PackedTriangle, bool, DenseView<float>);
template void solve_triangle(Host&, DenseView<const double>, PackedTriangle, bool, DenseView<double>);

}  // namespace echelon::crout

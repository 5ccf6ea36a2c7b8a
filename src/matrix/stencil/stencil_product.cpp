// SPDX-License-Identifier: BSD-3-Clause
#include "matrix/stencil/stencil_product.hpp"

#include "backend/target.hpp"

namespace echelon {

namespace {

/// y = alpha A x, or y = alpha A x + beta y.
template <class T, class Layout, bool is_constant, bool adds>
struct MultiplyStencil {
  StencilCoefficients<T> A;
  T alpha, beta;
  const T* x;
  T* y;
  ECHELON_ANYWHERE void operator()(const GridPoint& p) const {
    const T own = A.template at<is_constant>(Layout::center, p) * read_only(x + p.index);
    const T product = alpha * (own + neighbour_sum<Layout, is_constant>(A, p, x));
    y[p.index] = adds ? product + beta * y[p.index] : product;
  }
};

}  // namespace

template <class B, class T>
void multiply_stencil(B& backend, const StencilMatrix<T>& A, T alpha, const T* x, T beta, T* y) {
  with_layout(A, [&]<class Layout, bool constant>() {
    const GridNumbering grid(A.grid);
    if (beta == T{0}) {
      for_each_point<constant>(
          backend, grid, MultiplyStencil<T, Layout, constant, false>{A.coefficients(), alpha, beta, x, y});
    } else {
      for_each_point<constant>(
          backend, grid, MultiplyStencil<T, Layout, constant, true>{A.coefficients(), alpha, beta, x, y});
    }
  });
}

using ThisBackend = ThisTarget::Backend;
template void multiply_stencil(ThisBackend&, const StencilMatrix<float>&, float, const float*, float, float*);
template void multiply_stencil(ThisBackend&, const StencilMatrix<double>&, double, const double*, double,
                               double*);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "dense/factorization/qr.hpp"

#include "backend/host/host.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"

namespace echelon::lu {

namespace {

template <class T>
void factor_on_host(const Device& device, DenseView<T> A, T* tau) {
  const int n = blas::dimension(A.rows());
  const blas::Threads threads(device, n);
  lapack::geqrf(n, A.data(), tau);
}

template <class T>
void substitute_on_host(const Device& device, bool transposed, DenseView<const T> factors, const T* tau,
                        DenseView<T> X) {
  const int n = blas::dimension(factors.rows());
  const int columns = blas::dimension(X.columns());
  const int leading = blas::dimension(X.leading());
  const blas::Threads threads(device, n);
  if (!transposed) lapack::multiply_by_q(true, n, columns, factors.data(), tau, X.data(), leading);
  blas::trsm(CblasUpper, transposed ? CblasTrans : CblasNoTrans, CblasNonUnit, n, columns, factors.data(), n,
             X.data(), leading);
  if (transposed) lapack::multiply_by_q(false, n, columns, factors.data(), tau, X.data(), leading);
}

}  // namespace

template <class T>
void factor_qr(Host& backend, DenseView<T> A, T* tau) {
  factor_on_host(backend.device(), A, tau);
}
template <class T>
void substitute_qr(Host& backend, bool transposed, DenseView<const T> factors, const T* tau, DenseView<T> X) {
  substitute_on_host(backend.device(), transposed, factors, tau, X);
}

template void factor_qr(Host&, DenseView<float>, float*);
template void factor_qr(Host&, DenseView<double>, double*);
template void substitute_qr(Host&, bool, DenseView<const float>, const float*, DenseView<float>);
template void substitute_qr(Host&, bool, DenseView<const double>, const double*, DenseView<double>);

}  // namespace echelon::lu

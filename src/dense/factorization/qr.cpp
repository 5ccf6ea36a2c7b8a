// SPDX-License-Identifier: BSD-3-Clause
#include "dense/factorization/qr.hpp"

#include "backend/host/host.hpp"
#include "linalg/blas/blas.hpp"
#include "linalg/blas/lapack.hpp"

#include <algorithm>
#include <cstdint>

namespace echelon::lu {

namespace {

/// Tests for a request to stop between blocks of columns. LAPACK factors the last 128 columns of each one by
/// one: with blocks of 512, n = 1000 takes 4 % longer than in one call, and with blocks of 128 20 %.
template <class T>
bool factor_on_host(const Device& device, DenseView<T> A, T* tau, const SetupControl& control) {
  constexpr int block = 512;
  const int n = blas::dimension(A.rows());
  const blas::Threads threads(device, n);
  for (int first = 0; first < n; first += block) {
    if (control.stops_at(eliminated_share(first, n))) return false;
    const int rows = n - first;
    const int columns = std::min(block, rows);
    T* const corner = A.data() + std::int64_t{first} * n + first;
    lapack::geqrf(rows, columns, corner, n, tau + first);
    if (columns < rows)
      lapack::multiply_by_q(true, rows, rows - columns, {columns, corner, n, tau + first},
                            corner + std::int64_t{columns} * n, n);
  }
  return true;
}

template <class T>
void substitute_on_host(const Device& device, bool transposed, DenseView<const T> factors, const T* tau,
                        DenseView<T> X) {
  const int n = blas::dimension(factors.rows());
  const int columns = blas::dimension(X.columns());
  const int leading = blas::dimension(X.leading());
  const blas::Threads threads(device, n);
  if (!transposed) lapack::multiply_by_q(true, n, columns, {n, factors.data(), n, tau}, X.data(), leading);
  blas::trsm(CblasUpper, transposed ? CblasTrans : CblasNoTrans, CblasNonUnit, n, columns, factors.data(), n,
             X.data(), leading);
  if (transposed) lapack::multiply_by_q(false, n, columns, {n, factors.data(), n, tau}, X.data(), leading);
}

}  // namespace

template <class T>
bool factor_qr(Host& backend, DenseView<T> A, T* tau, const SetupControl& control) {
  return factor_on_host(backend.device(), A, tau, control);
}
template <class T>
void substitute_qr(Host& backend, bool transposed, DenseView<const T> factors, const T* tau, DenseView<T> X) {
  substitute_on_host(backend.device(), transposed, factors, tau, X);
}

template bool factor_qr(Host&, DenseView<float>, float*, const SetupControl&);
template bool factor_qr(Host&, DenseView<double>, double*, const SetupControl&);
template void substitute_qr(Host&, bool, DenseView<const float>, const float*, DenseView<float>);
template void substitute_qr(Host&, bool, DenseView<const double>, const double*, DenseView<double>);

}  // namespace echelon::lu

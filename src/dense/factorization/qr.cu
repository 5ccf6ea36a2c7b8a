// SPDX-License-Identifier: BSD-3-Clause
#include "dense/factorization/cusolver.cuh"
#include "dense/factorization/qr.hpp"

namespace echelon::lu {

template <class T>
bool factor_qr(Cuda& backend, DenseView<T> A, T* tau, const SetupControl& control) {
  if (control.stops_at(0)) return false;
  Cusolver(backend.device()).factor_qr(backend, A.rows(), A.rows(), A.data(), tau);
  return true;
}

/// Factors A = Q R with a handle and a workspace for each call: QR is the last resort of LU.
template <class T>
void substitute_qr(Cuda& backend, bool transposed, DenseView<const T> factors, const T* tau, DenseView<T> X) {
  if (factors.rows() == 0) return;
  Cusolver cusolver(backend.device());
  Array<T> workspace(backend.device(), cusolver.q_workspace(factors, tau));
  cusolver.substitute_qr(backend, transposed, factors, tau, X, workspace);
  backend.synchronize();  // before the workspace is released
}

template bool factor_qr(Cuda&, DenseView<float>, float*, const SetupControl&);
template bool factor_qr(Cuda&, DenseView<double>, double*, const SetupControl&);
template void substitute_qr(Cuda&, bool, DenseView<const float>, const float*, DenseView<float>);
template void substitute_qr(Cuda&, bool, DenseView<const double>, const double*, DenseView<double>);

}  // namespace echelon::lu

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/side.hpp"
#include "matrix/convert.hpp"

#include <echelon/matrix.hpp>

namespace echelon {

template <class T>
Dense<T> to_dense(MatrixRef<T> matrix) {
#ifdef ECHELON_WITH_CUDA
  if (!matrix.device().on_host()) return to_dense_on<CudaSide>(matrix);
#endif
  return to_dense_on<HostSide>(matrix);
}

template <class T>
Csr<T> to_csr(MatrixRef<T> matrix) {
#ifdef ECHELON_WITH_CUDA
  if (!matrix.device().on_host()) return to_csr_on<CudaSide>(matrix);
#endif
  return to_csr_on<HostSide>(matrix);
}

template Dense<float> to_dense(MatrixRef<float>);
template Dense<double> to_dense(MatrixRef<double>);
template Csr<float> to_csr(MatrixRef<float>);
template Csr<double> to_csr(MatrixRef<double>);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/dispatch.hpp"
#include "linalg/sparse_sum.hpp"

#include <echelon/error.hpp>

namespace echelon {

template <class Side, class T>
SumArrays<T> sum_on(ScaledCsr<T>, ScaledCsr<T>, bool) {
  throw NotBuilt("sparse sums on a GPU are not built yet: move the operands to the host");
}
template <class Side, class T>
bool update_sum_on(ScaledCsr<T>, ScaledCsr<T>, const Array<std::int64_t>&, const Array<std::int32_t>&, T*) {
  throw NotBuilt("sparse sums on a GPU are not built yet: move the operands to the host");
}

template SumArrays<float> sum_on<CudaSide>(ScaledCsr<float>, ScaledCsr<float>, bool);
template SumArrays<double> sum_on<CudaSide>(ScaledCsr<double>, ScaledCsr<double>, bool);
template bool update_sum_on<CudaSide>(ScaledCsr<float>, ScaledCsr<float>, const Array<std::int64_t>&,
                                      const Array<std::int32_t>&, float*);
template bool update_sum_on<CudaSide>(ScaledCsr<double>, ScaledCsr<double>, const Array<std::int64_t>&,
                                      const Array<std::int32_t>&, double*);

}  // namespace echelon

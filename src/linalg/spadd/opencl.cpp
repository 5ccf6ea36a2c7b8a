// SPDX-License-Identifier: BSD-3-Clause
#include "backend/target.hpp"
#include "linalg/spadd/row_sums.hpp"

#include <cstdint>

namespace echelon {

template <class Target, class T>
SumArrays<T> sum_on(ScaledCsr<T> A, ScaledCsr<T> B, bool with_values) {
  OpenCl backend(A.matrix.device());
  return sum_by_rows(backend, A, B, with_values,
                     [&](std::int64_t /*work*/, auto row) { backend.for_each(A.matrix.rows(), row); });
}

template <class Target, class T>
bool update_sum_on(ScaledCsr<T> A, ScaledCsr<T> B, const Array<std::int64_t>& row_offsets,
                   const Array<std::int32_t>& column_indices, T* values) {
  OpenCl backend(A.matrix.device());
  return update_sum_by_rows(backend, A, B, row_offsets, column_indices, values,
                            [&](std::int64_t /*work*/, auto row) { backend.for_each(A.matrix.rows(), row); });
}

#define ECHELON_INSTANTIATE(T)                                                                      \
  template SumArrays<T> sum_on<OpenClTarget>(ScaledCsr<T>, ScaledCsr<T>, bool);                     \
  template bool update_sum_on<OpenClTarget>(ScaledCsr<T>, ScaledCsr<T>, const Array<std::int64_t>&, \
                                            const Array<std::int32_t>&, T*);
ECHELON_INSTANTIATE(float)
ECHELON_INSTANTIATE(double)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

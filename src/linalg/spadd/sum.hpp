// SPDX-License-Identifier: BSD-3-Clause
/// Sums of sparse matrices, arguments checked, per side: host code in sparse_sum.cpp, CUDA in sparse_sum.cu.
#pragma once

#include <echelon/csr.hpp>

#include <cstdint>

namespace echelon {

template <class T>
struct ScaledCsr {
  T factor;
  const Csr<T>& matrix;
};

/// The arrays of a sum, on its device.
template <class T>
struct SumArrays {
  Array<std::int64_t> row_offsets;
  Array<std::int32_t> column_indices;
  Array<T> values;  ///< empty when they are not asked for
};

template <class Target, class T>
[[nodiscard]] SumArrays<T> sum_on(ScaledCsr<T> a, ScaledCsr<T> b, bool with_values);
/// The values of a sum whose pattern is known. False if another pattern has been found.
template <class Target, class T>
[[nodiscard]] bool update_sum_on(ScaledCsr<T> a, ScaledCsr<T> b, const Array<std::int64_t>& row_offsets,
                                 const Array<std::int32_t>& column_indices, T* values);

}  // namespace echelon

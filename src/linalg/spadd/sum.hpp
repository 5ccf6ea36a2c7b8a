// SPDX-License-Identifier: BSD-3-Clause
/// Sums of sparse matrices for checked arguments, per compilation target: host.cpp, cuda.cu.
#pragma once

#include <echelon/matrix/csr.hpp>

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
  Array<T> values;  ///< empty if only the pattern is computed
};

template <class Target, class T>
[[nodiscard]] SumArrays<T> sum_on(ScaledCsr<T> a, ScaledCsr<T> b, bool with_values);
/// Computes the values of a sum with a known pattern. False if the operands were found to have another
/// pattern.
template <class Target, class T>
[[nodiscard]] bool update_sum_on(ScaledCsr<T> a, ScaledCsr<T> b, const Array<std::int64_t>& row_offsets,
                                 const Array<std::int32_t>& column_indices, T* values);

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "backend/host/host.hpp"

#include "backend/targets.hpp"
#include "linalg/dynamic_rows.hpp"
#include "linalg/spadd/row_sums.hpp"

#include <cstdint>

namespace echelon {

namespace {

/// A loop over the rows of a matrix, whose lengths differ.
auto for_each_row_of(const Device& device, std::int64_t rows) {
  return [&device, rows](std::int64_t work, const auto& f) {
    for_dynamic_rows(device.threads(), rows, work, [&](int, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) f(i);
    });
  };
}

}  // namespace

template <class Target, class T>
SumArrays<T> sum_on(ScaledCsr<T> A, ScaledCsr<T> B, bool with_values) {
  Host backend(A.matrix.device());
  return sum_by_rows(backend, A, B, with_values, for_each_row_of(backend.device(), A.matrix.rows()));
}

template <class Target, class T>
bool update_sum_on(ScaledCsr<T> A, ScaledCsr<T> B, const Array<std::int64_t>& row_offsets,
                   const Array<std::int32_t>& column_indices, T* values) {
  Host backend(A.matrix.device());
  return update_sum_by_rows(backend, A, B, row_offsets, column_indices, values,
                            for_each_row_of(backend.device(), A.matrix.rows()));
}

template SumArrays<float> sum_on<HostTarget>(ScaledCsr<float>, ScaledCsr<float>, bool);
template SumArrays<double> sum_on<HostTarget>(ScaledCsr<double>, ScaledCsr<double>, bool);
template bool update_sum_on<HostTarget>(ScaledCsr<float>, ScaledCsr<float>, const Array<std::int64_t>&,
                                        const Array<std::int32_t>&, float*);
template bool update_sum_on<HostTarget>(ScaledCsr<double>, ScaledCsr<double>, const Array<std::int64_t>&,
                                        const Array<std::int32_t>&, double*);

}  // namespace echelon

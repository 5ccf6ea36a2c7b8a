// SPDX-License-Identifier: BSD-3-Clause
/// The textbook Gauss-Seidel sweep.
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cstdint>

namespace echelon::bench {

/// Sweeps in place and divides in each row. All pointers are to host memory.
template <class T>
[[gnu::noinline]] void plain_sweep(const Csr<T>& A, const T* b, T* x) {
  const std::int64_t* offsets = A.row_offsets().data();
  const std::int32_t* columns = A.column_indices().data();
  const T* values = A.values().data();
  for (std::int64_t i = 0; i < A.rows(); ++i) {
    T sum = b[i];
    T diagonal = 0;
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      if (columns[k] == i) {
        diagonal = values[k];
      } else {
        sum -= values[k] * x[columns[k]];
      }
    }
    x[i] = sum / diagonal;
  }
}

}  // namespace echelon::bench

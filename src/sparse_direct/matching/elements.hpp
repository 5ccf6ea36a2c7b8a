// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>

#include <cmath>
#include <cstdint>

namespace echelon::sparse_direct {

/// Calls f(i, j, |a_ij|) for the stored elements, row by row.
template <class T, class F>
void for_each_element(const Csr<T>& a, F f) {
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      f(i, a.column_indices()[k], std::abs(static_cast<double>(a.values()[k])));
    }
  }
}

}  // namespace echelon::sparse_direct

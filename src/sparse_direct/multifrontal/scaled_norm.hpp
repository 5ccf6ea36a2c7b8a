// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/scalar.hpp"

#include <echelon/matrix/csr.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

/// ||R A C||_1 for a matrix on the host and diagonal R and C.
template <class T, class Scale>
[[nodiscard]] double scaled_norm_one(const Csr<T>& a, const std::vector<Scale>& row_scale,
                                     const std::vector<Scale>& column_scale) {
  std::vector<double> sums(static_cast<std::size_t>(a.columns()), 0);
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    for (std::int64_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      const std::int32_t j = a.column_indices()[k];
      sums[static_cast<std::size_t>(j)] += magnitude(a.values()[k]) *
                                           static_cast<double>(row_scale[static_cast<std::size_t>(i)]) *
                                           static_cast<double>(column_scale[static_cast<std::size_t>(j)]);
    }
  }
  return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
}

}  // namespace echelon::sparse_direct

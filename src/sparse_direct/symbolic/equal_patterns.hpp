// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/csr.hpp>

#include <algorithm>

namespace echelon::sparse_direct {

/// Whether two matrices on the host store elements at the same places.
template <class T>
[[nodiscard]] bool have_equal_patterns(const Csr<T>& a, const Csr<T>& b) {
  return std::ranges::equal(a.row_offsets().span(), b.row_offsets().span()) &&
         std::ranges::equal(a.column_indices().span(), b.column_indices().span());
}

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon {

/// View of columns [begin, end) of a column-major A.
template <class T>
DenseView<T> column_range(const DenseView<T>& A, std::int64_t begin, std::int64_t end) {
  return {A.column(begin), A.rows(), end - begin, A.leading(), A.device()};
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// The diagonal of a Laplacian as a preconditioner.
#pragma once

#include "backend/lower_bound.hpp"
#include "backend/rounded.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstdint>

namespace echelon::graph_laplacian {

/// inverse[i] = 1 / a_ii, or zero without a diagonal element. Columns ascend.
template <class T>
struct InvertDiagonal {
  const std::int64_t* offsets;
  const std::int32_t* columns;
  const T* values;
  T* inverse;
  InvertDiagonal(const Csr<T>& A, T* result)
      : offsets(A.row_offsets().data()),
        columns(A.column_indices().data()),
        values(A.values().data()),
        inverse(result) {}
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t end = offsets[i + 1];
    const std::int64_t k = lower_bound(columns, offsets[i], end, i);
    inverse[i] = k < end && columns[k] == i && values[k] != T{0} ? T{1} / values[k] : T{0};
  }
};

/// D^-1 r, computed on access instead of stored.
template <class T>
struct ScaledElement {
  const T* inverse;
  const T* r;
  ECHELON_ANYWHERE T operator[](std::int64_t i) const { return rounded_product(inverse[i], r[i]); }
};

}  // namespace echelon::graph_laplacian

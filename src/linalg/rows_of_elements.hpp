// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstdint>

namespace echelon {

/// rows[k] = i for each stored element k of row i.
struct WriteRowOfElements {
  const std::int64_t* offsets;
  std::int32_t* rows;
  ECHELON_ANYWHERE void operator()(std::int64_t i) const {
    for (std::int64_t k = offsets[i]; k < offsets[i + 1]; ++k) rows[k] = static_cast<std::int32_t>(i);
  }
};
/// rows[k] = the row of stored element k.
struct FindRowOfElement {
  const std::int64_t* offsets;
  std::int64_t n;
  std::int32_t* rows;
  ECHELON_ANYWHERE void operator()(std::int64_t k) const {
    std::int64_t first = 0;  // offsets[first] <= k < offsets[last]
    std::int64_t last = n;
    while (last - first > 1) {
      const std::int64_t middle = first + (last - first) / 2;
      if (offsets[middle] <= k) {
        first = middle;
      } else {
        last = middle;
      }
    }
    rows[k] = static_cast<std::int32_t>(first);
  }
};

/// Computes the row of each stored element. On a GPU by a search for each element, since a thread for each
/// row would take as long as the longest row.
template <class B, class T>
Array<std::int32_t> rows_of_elements(B& backend, const Csr<T>& A) {
  Array<std::int32_t> rows(backend.device(), A.nonzeros());
  if (backend.device().on_host()) {
    backend.for_each(A.rows(), WriteRowOfElements{A.row_offsets().data(), rows.data()});
  } else {
    backend.for_each(A.nonzeros(), FindRowOfElement{A.row_offsets().data(), A.rows(), rows.data()});
  }
  return rows;
}

}  // namespace echelon

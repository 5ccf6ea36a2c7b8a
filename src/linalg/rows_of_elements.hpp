// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>
#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>

#include <cstdint>

namespace echelon {

/// rows[k] = i.
struct WriteRowOfElement {
  std::int32_t* rows;
  ECHELON_ANYWHERE void operator()(std::int64_t i, std::int64_t k) const {
    rows[k] = static_cast<std::int32_t>(i);
  }
};

/// Row of each stored element of A.
template <class B, class T>
Array<std::int32_t> rows_of_elements(B& backend, const Csr<T>& A) {
  Array<std::int32_t> rows(backend.device(), A.nonzeros());
  backend.segmented_for_each(A.rows(), A.row_offsets().data(), WriteRowOfElement{rows.data()});
  return rows;
}

}  // namespace echelon

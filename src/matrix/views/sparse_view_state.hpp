// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "matrix/views/borrowed_arrays.hpp"
#include "matrix/views/gather.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/sparse_view.hpp>

#include <cstdint>

namespace echelon {

/// State of a view and its copies.
template <class T>
struct SparseViewState {
  Csr<T> csr;
  std::int64_t source_count;  ///< stored elements of the caller's arrays
  bool in_place;
  GatherMap map;  ///< of the values; empty in place

  /// Values of the Csr for others in the caller's arrays, to which it refers in place.
  [[nodiscard]] Array<T> values_of(const T* values) const {
    if (in_place) return borrow(csr.device(), values, source_count);
    Array<T> result(csr.device(), csr.nonzeros());
    gather_into(result, values);
    return result;
  }
  /// Computes values of the Csr that are not in place; queued on a GPU without waiting.
  void gather_into(Array<T>& target, const T* values) const {
    check_array(values, source_count);
    if (source_count > 0) gather(csr.device(), map, values, csr.nonzeros(), target.data());
  }
};

}  // namespace echelon

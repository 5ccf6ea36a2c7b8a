// SPDX-License-Identifier: BSD-3-Clause
/// Null space of a matrix in reduced row echelon form.
#pragma once

#include "backend/backend.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace echelon {

namespace null_space_detail {

/// Element e of the basis, in column-major order.
template <class T>
struct NullSpaceElement {
  DenseView<const T> R;
  const std::int64_t* pivots;  // index of the pivot of each column of R; negative: none
  const std::int64_t* free;    // the columns without a pivot
  const T* scale;              // of the columns of R; null: 1
  T* basis;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t i = e % R.columns();
    const std::int64_t column = free[e / R.columns()];
    const std::int64_t pivot = pivots[i];
    if (pivot < 0) {
      basis[e] = i == column ? T{1} : T{0};
    } else {
      const T element = T{0} - R.data()[column * R.leading() + pivot];
      basis[e] = scale == nullptr ? element : element * (scale[i] / scale[column]);
    }
  }
};

}  // namespace null_space_detail

/// A basis of the null space, n by n - rank, from the columns of the reduced form R that have no pivot.
/// `scale`: the factors by which the columns were multiplied before the elimination, or null.
template <class B, class T>
Dense<T> null_basis(B& backend, DenseView<const T> R, const std::vector<std::int64_t>& pivot_columns,
                    const T* scale) {
  const auto rank = static_cast<std::int64_t>(pivot_columns.size());
  if (rank == R.columns()) return Dense<T>(R.device(), R.columns(), 0);
  std::vector<std::int64_t> pivots(static_cast<std::size_t>(R.columns()), -1);
  for (std::size_t k = 0; k < pivot_columns.size(); ++k) {
    pivots[static_cast<std::size_t>(pivot_columns[k])] = static_cast<std::int64_t>(k);
  }
  std::vector<std::int64_t> free;
  for (std::size_t j = 0; j < pivots.size(); ++j) {
    if (pivots[j] < 0) free.push_back(static_cast<std::int64_t>(j));
  }
  using Indices = Array<std::int64_t>;
  const Indices device_pivots(R.device(), std::span<const std::int64_t>(pivots));
  const Indices device_free(R.device(), std::span<const std::int64_t>(free));
  Dense<T> basis(R.device(), R.columns(), device_free.size());
  backend.for_each(basis.rows() * basis.columns(),
                   null_space_detail::NullSpaceElement<T>{R, device_pivots.data(), device_free.data(), scale,
                                                          basis.data()});
  backend.synchronize();
  return basis;
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Magnitudes of the elements of a complex matrix, as a real matrix of the same pattern: what depends on
/// these alone is found for complex matrices as for real ones.
#pragma once

#include "support/scalar.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/dense.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace echelon {

/// |A|, in host memory. O(nonzeros).
template <class T>
Csr<double> magnitudes_of(const Csr<T>& A) {
  Array<double> values(Device(), A.nonzeros());
  std::transform(A.values().data(), A.values().data() + A.nonzeros(), values.data(),
                 [](T value) { return magnitude(value); });
  return Csr<double>::unchecked(A.rows(), A.columns(), A.row_offsets(), A.column_indices(),
                                std::move(values));
}

/// Calls f with A if it is real, or else with |A|, for what is found from the magnitudes of elements.
template <class T, class F>
auto with_magnitudes(const Csr<T>& A, const F& f) {
  if constexpr (is_complex<T>) {
    return f(magnitudes_of(A));
  } else {
    return f(A);
  }
}

/// |A|, column by column, in host memory.
template <class T>
Dense<double> magnitudes_of(const DenseView<const T>& A) {
  Dense<double> values(Device(), A.rows(), A.columns());
  for (std::int64_t j = 0; j < A.columns(); ++j) {
    for (std::int64_t i = 0; i < A.rows(); ++i) values(i, j) = magnitude(A(i, j));
  }
  return values;
}

}  // namespace echelon

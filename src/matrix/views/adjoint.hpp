// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "support/scalar.hpp"

#include <echelon/matrix/csr.hpp>
#include <echelon/matrix/transform.hpp>

#include <algorithm>

namespace echelon {

/// A^H of a matrix in host memory.
template <class T>
[[nodiscard]] Csr<T> adjoint(const Csr<T>& A) {
  Csr<T> result = transpose(A);
  T* const values = result.values().data();
  if constexpr (is_complex<T>) std::transform(values, values + result.nonzeros(), values, conj<T>);
  return result;
}

}  // namespace echelon

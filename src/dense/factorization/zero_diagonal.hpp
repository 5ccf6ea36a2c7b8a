// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/store.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon::lu {

/// The first zero on the diagonal of contiguous columns.
template <class T>
struct ZeroDiagonal {
  const T* factors;
  std::int64_t n;
  ECHELON_ANYWHERE FirstIndex operator()(std::int64_t i) const {
    return {factors[i * (n + 1)] == T{0} ? i : FirstIndex::none};
  }
};

/// Index of the first zero on the diagonal of a square matrix, -1 if there is none. Waits.
template <class B, class T>
std::int64_t first_zero_on_diagonal(B& backend, const Dense<T>& A) {
  Array<FirstIndex> zero(backend.device(), 1);
  backend.reduce(A.rows(), ZeroDiagonal<T>{A.data(), A.rows()}, Store<FirstIndex>{zero.data()});
  const std::int64_t index = backend.read(zero.data()).value;
  return index == FirstIndex::none ? -1 : index;
}

}  // namespace echelon::lu

// SPDX-License-Identifier: BSD-3-Clause
/// inspect() for any backend, of its scan and its products with vectors: three passes over the matrix.
#pragma once

#include "backend/store.hpp"
#include "dense/gauss_jordan/inspection.hpp"
#include "dense/panels/panel.hpp"
#include "linalg/spmv/multiply.hpp"

#include <echelon/array.hpp>
#include <echelon/matrix/dense.hpp>
#include <echelon/matrix/matrix.hpp>

namespace echelon {

template <class B, class T>
void inspect_by_products(B& backend, DenseView<const T> A, const InspectionVectors<T>& vectors,
                         double* row_sums, MatrixInspection* result, const EliminationState* state = nullptr,
                         EliminationState* state_copy = nullptr) {
  Array<T> scratch(A.device(), 3 * A.rows());
  T* const v = scratch.data();
  T* const right = vectors.right_product != nullptr ? vectors.right_product : v + A.rows();
  T* const left = vectors.left_product != nullptr ? vectors.left_product : v + 2 * A.rows();
  backend.for_each(A.rows(), SetTestVector<T>{v});
  scan(backend, A, row_sums, &result->scan);
  multiply<T>(backend, T{1}, MatrixRef<T>(A), vectors.right != nullptr ? vectors.right : v, T{0}, right);
  multiply_transposed<T>(backend, T{1}, A, vectors.left != nullptr ? vectors.left : v, T{0}, left);
  backend.reduce(A.rows(), DistancesAt<T>{right, left}, Store<Distances>{&result->distances});
  if (state != nullptr) backend.copy(1, state, state_copy);
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
#include "dense/gauss_jordan/inspection.hpp"

#include "backend/host/host.hpp"
#include "backend/store.hpp"
#include "linalg/spmv/multiply.hpp"

namespace echelon {

namespace {

template <class B, class T>
void inspect_on_host(B& backend, DenseView<const T> A, const InspectionVectors<T>& vectors, double* row_sums,
                     MatrixInspection* result, const EliminationState* state, EliminationState* state_copy) {
  Array<T> scratch(A.device(), 3 * A.rows());
  T* const v = scratch.data();
  T* const right = vectors.right_product != nullptr ? vectors.right_product : v + A.rows();
  T* const left = vectors.left_product != nullptr ? vectors.left_product : v + 2 * A.rows();
  backend.for_each(A.rows(), SetTestVector<T>{v});
  scan(backend, A, row_sums, &result->scan);
  multiply<T>(backend, T{1}, MatrixRef<T>(A), vectors.right != nullptr ? vectors.right : v, T{0}, right);
  multiply_transposed<T>(backend, T{1}, A, vectors.left != nullptr ? vectors.left : v, T{0}, left);
  backend.reduce(A.rows(), DistancesAt<T>{right, left}, Store<Distances>{&result->distances});
  if (state != nullptr) *state_copy = *state;
}

}  // namespace

template <class T>
void inspect(Host& backend, DenseView<const T> A, const InspectionVectors<T>& vectors, double* row_sums,
             MatrixInspection* result, const EliminationState* state, EliminationState* state_copy) {
  inspect_on_host(backend, A, vectors, row_sums, result, state, state_copy);
}

template void inspect(Host&, DenseView<const float>, const InspectionVectors<float>&, double*,
                      MatrixInspection*, const EliminationState*, EliminationState*);
template void inspect(Host&, DenseView<const double>, const InspectionVectors<double>&, double*,
                      MatrixInspection*, const EliminationState*, EliminationState*);

}  // namespace echelon

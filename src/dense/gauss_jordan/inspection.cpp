// SPDX-License-Identifier: BSD-3-Clause
#include "dense/gauss_jordan/inspection.hpp"

#include "backend/host/host.hpp"
#include "dense/gauss_jordan/inspection_by_products.hpp"

namespace echelon {

template <class T>
void inspect(Host& backend, DenseView<const T> A, const InspectionVectors<T>& vectors, double* row_sums,
             MatrixInspection* result, const EliminationState* state, EliminationState* state_copy) {
  inspect_by_products(backend, A, vectors, row_sums, result, state, state_copy);
}

template void inspect(Host&, DenseView<const float>, const InspectionVectors<float>&, double*,
                      MatrixInspection*, const EliminationState*, EliminationState*);
template void inspect(Host&, DenseView<const double>, const InspectionVectors<double>&, double*,
                      MatrixInspection*, const EliminationState*, EliminationState*);

}  // namespace echelon

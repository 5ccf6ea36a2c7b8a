// SPDX-License-Identifier: BSD-3-Clause
#include "dense/gauss_jordan/inspection.hpp"

#include "backend/host/host.hpp"
#include "dense/gauss_jordan/inspection_by_products.hpp"

#include <support/scalar_list.hpp>

namespace echelon {

template <class T>
void inspect(Host& backend, DenseView<const T> A, const InspectionVectors<T>& vectors, double* row_sums,
             MatrixInspection* result, const EliminationState* state, EliminationState* state_copy) {
  inspect_by_products(backend, A, vectors, row_sums, result, state, state_copy);
}

#define ECHELON_INSTANTIATE(T)                                                                              \
  template void inspect(Host&, DenseView<const T>, const InspectionVectors<T>&, double*, MatrixInspection*, \
                        const EliminationState*, EliminationState*);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

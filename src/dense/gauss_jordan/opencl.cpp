// SPDX-License-Identifier: BSD-3-Clause
// Panels and inspection in loops of the device.
#include "backend/target.hpp"
#include "dense/gauss_jordan/inspection_by_products.hpp"
#include "dense/panels/panel_loops.hpp"

namespace echelon {

template <class T>
void factor_panel(OpenCl& backend, DenseView<T> A, std::int64_t begin, std::int64_t end,
                  EliminationState* state, const PivotList<T>& pivots, PanelWorkspace<T>& workspace) {
  factor_by_columns(backend, A, begin, end, state, pivots, workspace);
}
template <class T>
void take_pivot_rows(OpenCl& backend, DenseView<T> X, PivotRange range, const std::int64_t* rows, T* W) {
  take_pivot_rows_by_columns(backend, X, range, rows, W);
}
template <class T>
void put_back_pivot_rows(OpenCl& backend, PivotRange range, const std::int64_t* rows, const T* products,
                         T* x) {
  put_back_pivot_rows_in_order(backend, range, rows, products, x);
}
template <class T>
void put_back_columns(OpenCl& backend, DenseView<T> A, const std::int64_t* rows,
                      const EliminationState* state) {
  put_back_columns_by_rows(backend, A, rows, state);
}
template <class T>
// NOLINTNEXTLINE(readability-non-const-parameter): the loop writes row_sums
void scan(OpenCl& backend, DenseView<const T> A, double* row_sums, MatrixScan* result) {
  scan_by_rows(backend, A, row_sums, result);
}

template <class T>
void inspect(OpenCl& backend, DenseView<const T> A, const InspectionVectors<T>& vectors, double* row_sums,
             MatrixInspection* result, const EliminationState* state, EliminationState* state_copy) {
  inspect_by_products(backend, A, vectors, row_sums, result, state, state_copy);
}

#define ECHELON_INSTANTIATE(T)                                                                         \
  template void factor_panel(OpenCl&, DenseView<T>, std::int64_t, std::int64_t, EliminationState*,     \
                             const PivotList<T>&, PanelWorkspace<T>&);                                 \
  template void take_pivot_rows(OpenCl&, DenseView<T>, PivotRange, const std::int64_t*, T*);           \
  template void put_back_pivot_rows(OpenCl&, PivotRange, const std::int64_t*, const T*, T*);           \
  template void put_back_columns(OpenCl&, DenseView<T>, const std::int64_t*, const EliminationState*); \
  template void inspect(OpenCl&, DenseView<const T>, const InspectionVectors<T>&, double*,             \
                        MatrixInspection*, const EliminationState*, EliminationState*);                \
  template void scan(OpenCl&, DenseView<const T>, double*, MatrixScan*);
ECHELON_INSTANTIATE(float)
ECHELON_INSTANTIATE(double)
#undef ECHELON_INSTANTIATE

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Application of an eliminated panel to other columns.
#pragma once

#include "backend/backend.hpp"
#include "dense/panels/panel.hpp"
#include "linalg/spmv/multiply.hpp"
#include "matrix/column_range.hpp"

#include <cstdint>

namespace echelon {

namespace panel_detail {

/// Copies packed(:, j) = A(:, columns[j]).
template <class T>
struct PackColumns {
  DenseView<const T> A;
  const std::int64_t* columns;
  T* packed;
  ECHELON_ANYWHERE void operator()(std::int64_t e) const {
    const std::int64_t j = e / A.rows();
    packed[e] = A.data()[columns[j] * A.leading() + e % A.rows()];
  }
};

}  // namespace panel_detail

/// G: the columns of A with the pivots of `range`, which lie in [begin, end); packed into the workspace where
/// some columns in between have no pivot.
template <class B, class T>
DenseView<const T> pivot_columns(B& backend, DenseView<const T> A, std::int64_t begin, std::int64_t end,
                                 PivotRange range, const std::int64_t* columns,
                                 PanelWorkspace<T>& workspace) {
  if (range.count() == end - begin) {
    return {A.column(begin), A.rows(), range.count(), A.leading(), A.device()};
  }
  backend.for_each(A.rows() * range.count(),
                   panel_detail::PackColumns<T>{A, columns + range.first, workspace.columns.data()});
  return {workspace.columns.data(), A.rows(), range.count(), A.rows(), A.device()};
}

/// Computes X = X + G W for W of G.columns() rows. 2 m p X.columns() flops.
template <class B, class T>
void add_product(B& backend, DenseView<const T> G, const T* W, std::int64_t leading, DenseView<T> X) {
  if (X.columns() == 1) {
    multiply<T>(backend, T{1}, MatrixRef<T>(G), W, T{1}, X.data());
  } else {
    gemm<T>(backend, T{1}, G, DenseView<const T>(W, G.columns(), X.columns(), leading, X.device()), T{1}, X);
  }
}

/// Applies a panel to the columns X: exchanges rows, then X = X + G W.
template <class B, class T>
void apply_panel(B& backend, DenseView<const T> G, PivotRange range, const std::int64_t* rows, DenseView<T> X,
                 PanelWorkspace<T>& workspace) {
  if (range.count() == 0 || X.columns() == 0) return;
  T* W = workspace.rows.data();
  take_pivot_rows(backend, X, range, rows, W);
  add_product<B, T>(backend, G, W, range.count(), X);
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Application of factored columns to other columns on a GPU.
#pragma once

#include "dense/panels/row_exchange.cuh"

#include <cstdint>

namespace echelon::lu {

/// Factored columns: the first `width` of them, from their diagonal down.
template <class T>
struct FactoredColumns {
  DenseView<const T> L;  ///< unit lower trapezoidal
  const int* origins;    ///< row i of L was row origins[i] before the row exchanges
};

/// Exchanges the rows of X, which start at the first row of L. 64 bytes of memory traffic for each element.
template <class T>
void exchange_rows(const StreamContext& context, const ColumnsExcept<T>& X, const int* origins, int width);

/// Rows of X that exchanges displace, as `exchange_rows` does; those that become rows of U go to W (width by
/// X.count(), contiguous), and X keeps the old ones.
template <class T>
void take_upper_rows(const StreamContext& context, const ColumnsExcept<T>& X, const int* origins, int width,
                     T* W);

/// Exchanges the rows of the columns on the left of each panel by the exchanges of all later panels. Panel p
/// has columns [p block, (p + 1) block), of `count` in all; column p of `origins` and of the workspace
/// `later_origins`, A.rows() elements long, is for panel p.
template <class T>
void exchange_left_rows(const StreamContext& context, DenseView<T> A, std::int64_t count, std::int64_t block,
                        const int* origins, int* later_origins);

/// Workspaces of apply_columns for its large products.
template <class T>
struct ApplyWorkspace {
  T* rows;                         ///< U's rows by its columns
  T* inverses;                     ///< of L's diagonal blocks: inverses_size(width) elements
  cudaEvent_t inverted = nullptr;  ///< the inverses are there after it; null: they are computed
};

/// Exchanges rows of X; replaces the first rows of its right part by U = L^-1 X, and subtracts L U from the
/// rows below.
template <class T>
void apply_columns(const StreamContext& context, const FactoredColumns<T>& factored,
                   const ColumnsExcept<T>& X, const ApplyWorkspace<T>& workspace);

}  // namespace echelon::lu

// SPDX-License-Identifier: BSD-3-Clause
/// Row exchanges and triangular solves with packed factors, in loops of any backend and products of matrices:
/// for backends without BLAS.
#pragma once

#include "backend/backend.hpp"
#include "linalg/spmv/multiply.hpp"
#include "matrix/rows.hpp"

#include <echelon/annotate.hpp>
#include <echelon/matrix/dense.hpp>

#include <algorithm>
#include <cstdint>

namespace echelon::lu {

/// Unknowns of a step of substitution.
inline constexpr std::int64_t substitution_block = 64;

/// Exchanges rows k and pivots[k] of column j for k in [first, last), ascending or descending.
template <class T>
struct ApplyRowExchanges {
  T* columns;
  std::int64_t leading;
  const std::int64_t* pivots;
  std::int64_t first, last;
  bool descending;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    T* const x = columns + j * leading;
    for (std::int64_t step = 0; step < last - first; ++step) {
      const std::int64_t k = descending ? last - 1 - step : first + step;
      const T kept = x[k];
      x[k] = x[pivots[k]];
      x[pivots[k]] = kept;
    }
  }
};

/// Solves with a triangle of rows and columns [first, last) of M, for column j of X.
template <class T>
struct SolveBlock {
  DenseRows<T> M;
  std::int64_t first, last;
  bool lower, unit;
  T* X;
  std::int64_t leading;
  ECHELON_ANYWHERE void operator()(std::int64_t j) const {
    T* const x = X + j * leading;
    for (std::int64_t step = 0; step < last - first; ++step) {
      const std::int64_t i = lower ? first + step : last - 1 - step;
      const std::int64_t begin = lower ? first : i + 1;
      const std::int64_t end = lower ? i : last;
      T sum = x[i];
      for (std::int64_t k = begin; k < end; ++k) sum -= M.at(i, k) * x[k];
      x[i] = unit ? sum : sum / M.at(i, i);
    }
  }
};

/// Rows [row, row + rows) and columns [column, column + columns) of a view in either layout.
template <class T>
DenseView<T> block_of(const DenseView<T>& A, std::int64_t row, std::int64_t rows, std::int64_t column,
                      std::int64_t columns) {
  const bool by_column = A.layout() == Layout::column_major;
  const std::int64_t offset = by_column ? row + column * A.leading() : row * A.leading() + column;
  return {A.data() + offset, rows, columns, A.leading(), A.device(), A.layout()};
}

/// Y = Y - M X. A few columns are multiplied one by one.
template <class B, class T>
void subtract_product(B& backend, const DenseView<const T>& M, const DenseView<const T>& X, DenseView<T> Y) {
  constexpr std::int64_t few_columns = 3;
  if (M.rows() == 0 || M.columns() == 0) return;
  if (X.columns() > few_columns) return gemm<T>(backend, T{-1}, M, X, T{1}, Y);
  for (std::int64_t j = 0; j < X.columns(); ++j) {
    multiply<T>(backend, T{-1}, MatrixRef<T>(M), X.column(j), T{1}, Y.column(j));
  }
}

/// X = M^-1 X for a triangle of M, block by block.
template <class B, class T>
void solve_triangle(B& backend, const DenseView<const T>& M, bool lower, bool unit, DenseView<T> X) {
  const std::int64_t n = M.rows();
  const std::int64_t blocks = (n + substitution_block - 1) / substitution_block;
  for (std::int64_t step = 0; step < blocks; ++step) {
    const std::int64_t first = (lower ? step : blocks - 1 - step) * substitution_block;
    const std::int64_t last = std::min(first + substitution_block, n);
    backend.for_each(X.columns(),
                     SolveBlock<T>{DenseRows<T>(M), first, last, lower, unit, X.data(), X.leading()});
    const std::int64_t rest = lower ? last : 0;
    const std::int64_t rows = lower ? n - last : first;
    subtract_product<B, T>(backend, block_of<const T>(M, rest, rows, first, last - first),
                           block_of<T>(X, first, last - first, 0, X.columns()),
                           block_of<T>(X, rest, rows, 0, X.columns()));
  }
}

}  // namespace echelon::lu

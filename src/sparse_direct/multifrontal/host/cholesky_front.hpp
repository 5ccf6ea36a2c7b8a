// SPDX-License-Identifier: BSD-3-Clause
/// Partial Cholesky factorisation of a front.
#pragma once

#include "sparse_direct/multifrontal/host/dense_kernels.hpp"

#include <cmath>
#include <cstdint>

namespace echelon::sparse_direct {

namespace cholesky_detail {

/// Cholesky factor of the lower triangle of a column-major Columns-by-Columns block, also by rows in `lower`.
/// Returns Columns, or the first column whose pivot is not positive; that pivot is left on the diagonal.
template <class Isa, int Columns, class T>
int factor_diagonal_block(T* a, std::int64_t leading, T* lower, T* inverse_diagonal) {
  for (int j = 0; j < Columns; ++j) {
    T pivot = a[j + j * leading];
    for (int p = 0; p < j; ++p) pivot -= lower[j * narrow + p] * lower[j * narrow + p];
    if (!(pivot > 0)) {
      a[j + j * leading] = pivot;
      return j;
    }
    const T root = std::sqrt(pivot);
    const T inverse = 1 / root;
    a[j + j * leading] = root;
    inverse_diagonal[j] = inverse;
    for (int i = j + 1; i < Columns; ++i) {
      T element = a[i + j * leading];
      for (int p = 0; p < j; ++p) element -= lower[i * narrow + p] * lower[j * narrow + p];
      lower[i * narrow + j] = a[i + j * leading] = element * inverse;
    }
  }
  return Columns;
}

/// Factors a panel of at most `narrow` columns.
template <class Isa, class T>
int factor_narrow(int rows, int columns, T* a, std::int64_t leading) {
  return with_constant(columns, [&](auto count) {
    T lower[narrow * narrow] = {};
    T inverse_diagonal[narrow] = {};
    const int factored = factor_diagonal_block<Isa, count>(a, leading, lower, inverse_diagonal);
    if (factored == count) {
      solve_rows<Isa, count, false>(rows - count, lower, inverse_diagonal, a + count, leading);
    }
    return factored;
  });
}

/// Factors the leading `columns` columns of a panel by halves, so that most of the work is done by products.
template <class Isa, class T>
int factor_panel(PackBuffers<T>& buffers, int rows, int columns, T* a, std::int64_t leading) {
  if (buffers.is_cancelled()) return 0;
  if (columns <= narrow) return factor_narrow<Isa>(rows, columns, a, leading);
  const int left = (columns / 2 + narrow - 1) / narrow * narrow;
  const int factored = factor_panel<Isa>(buffers, rows, left, a, leading);
  if (factored < left) return factored;
  T* below = a + left;
  T* right = below + left * leading;
  subtract_product<Isa>(buffers, Part::lower, rows - left, columns - left, left, below, leading,
                        transposed(below, leading), right, leading);
  return left + factor_panel<Isa>(buffers, rows - left, columns - left, right, leading);
}

}  // namespace cholesky_detail

/// Factors the leading `pivots` columns of a symmetric front of order `size`. `panel`, size by pivots with
/// leading dimension `size`, holds its lower part and receives L; the product of the rows of L below the
/// pivots with their transpose is subtracted from the lower triangle of `update`, of order size - pivots.
/// Elements above the diagonals are overwritten. Returns `pivots`, or the first column whose pivot is not
/// positive, which is left on the diagonal.
template <class Isa, class T>
int factor_cholesky_front(PackBuffers<T>& buffers, int size, int pivots, T* panel, T* update) {
  const int factored = cholesky_detail::factor_panel<Isa>(buffers, size, pivots, panel, size);
  const int below = size - pivots;
  if (factored == pivots && below > 0) {
    subtract_product<Isa>(buffers, Part::lower, below, below, pivots, panel + pivots, size,
                          transposed(panel + pivots, size), update, below);
  }
  return factored;
}

}  // namespace echelon::sparse_direct

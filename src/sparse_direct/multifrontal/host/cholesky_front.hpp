// SPDX-License-Identifier: BSD-3-Clause
/// Partial Cholesky factorisation of a front.
#pragma once

#include "sparse_direct/multifrontal/fronts/front.hpp"
#include "sparse_direct/multifrontal/host/dense_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace echelon::sparse_direct {

namespace cholesky_detail {

template <class T>
Real<T> squared(T x) {
  if constexpr (is_complex<T>) {
    return std::norm(x);
  } else {
    return x * x;
  }
}

/// Subtracts the product of A, rows by terms, with the adjoint of its first `columns` rows from the lower
/// triangle of C.
template <class Isa, class T>
void subtract_adjoint_product(PackBuffers<T>& buffers, std::vector<T>& scratch, int rows, int columns,
                              int terms, const T* a, std::int64_t leading, T* c, std::int64_t leading_c) {
  if constexpr (!is_complex<T>) {
    subtract_product<Isa>(buffers, Part::lower, rows, columns, terms, a, leading, transposed(a, leading), c,
                          leading_c);
  } else {
    constexpr int chunk = 512;  // rows of A that are conjugated at once
    for (int j = 0; j < columns && !buffers.is_cancelled(); j += chunk) {
      const int count = std::min(chunk, columns - j);
      scratch.resize(static_cast<std::size_t>(count) * static_cast<std::size_t>(terms));
      T* conjugated = scratch.data();
      for (int p = 0; p < terms; ++p) {
        const T* const column = a + j + p * leading;
        conjugated = std::transform(column, column + count, conjugated, TriangleMirror{true});
      }
      subtract_product<Isa>(buffers, Part::lower, rows - j, count, terms, a + j, leading,
                            transposed(scratch.data(), count), c + j + j * leading_c, leading_c);
    }
  }
}

/// Cholesky factor of the lower triangle of a column-major Columns-by-Columns block, and its conjugate by
/// rows in `lower`. Returns Columns, or the first column whose pivot is not positive; that pivot is left on
/// the diagonal.
template <class Isa, int Columns, class T>
int factor_diagonal_block(T* a, std::int64_t leading, T* lower, T* inverse_diagonal) {
  constexpr TriangleMirror conjugate{true};
  for (int j = 0; j < Columns; ++j) {
    Real<T> pivot = std::real(a[j + j * leading]);
    for (int p = 0; p < j; ++p) pivot -= squared(lower[j * narrow + p]);
    if (!(pivot > 0)) {
      a[j + j * leading] = pivot;
      return j;
    }
    const Real<T> root = std::sqrt(pivot);
    const Real<T> inverse = 1 / root;
    a[j + j * leading] = root;
    inverse_diagonal[j] = inverse;
    for (int i = j + 1; i < Columns; ++i) {
      T element = a[i + j * leading];
      for (int p = 0; p < j; ++p) element -= conjugate(lower[i * narrow + p]) * lower[j * narrow + p];
      a[i + j * leading] = element * inverse;
      lower[i * narrow + j] = conjugate(a[i + j * leading]);
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
int factor_panel(PackBuffers<T>& buffers, std::vector<T>& scratch, int rows, int columns, T* a,
                 std::int64_t leading) {
  if (buffers.is_cancelled()) return 0;
  if (columns <= narrow) return factor_narrow<Isa>(rows, columns, a, leading);
  const int left = (columns / 2 + narrow - 1) / narrow * narrow;
  const int factored = factor_panel<Isa>(buffers, scratch, rows, left, a, leading);
  if (factored < left) return factored;
  T* below = a + left;
  T* right = below + left * leading;
  subtract_adjoint_product<Isa>(buffers, scratch, rows - left, columns - left, left, below, leading, right,
                                leading);
  return left + factor_panel<Isa>(buffers, scratch, rows - left, columns - left, right, leading);
}

}  // namespace cholesky_detail

/// Factors the leading `pivots` columns of a symmetric or Hermitian front of order `size`. `panel`, size by
/// pivots with leading dimension `size`, holds its lower part and receives L; the product of the rows of L
/// below the pivots with their adjoint is subtracted from the lower triangle of `update`, of order size -
/// pivots. Elements above the diagonals are overwritten. Returns `pivots`, or the first column whose pivot is
/// not positive, which is left on the diagonal.
template <class Isa, class T>
int factor_cholesky_front(PackBuffers<T>& buffers, std::vector<T>& scratch, int size, int pivots, T* panel,
                          T* update) {
  using namespace cholesky_detail;
  const int factored = factor_panel<Isa>(buffers, scratch, size, pivots, panel, size);
  const int below = size - pivots;
  if (factored == pivots && below > 0) {
    subtract_adjoint_product<Isa>(buffers, scratch, below, below, pivots, panel + pivots, size, update,
                                  below);
  }
  return factored;
}

}  // namespace echelon::sparse_direct

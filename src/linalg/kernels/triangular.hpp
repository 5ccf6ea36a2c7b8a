// SPDX-License-Identifier: BSD-3-Clause
/// Triangular systems with small matrices, for many rows at once in vector registers.
#pragma once

#include "linalg/kernels/product.hpp"

#include <cstdint>

namespace echelon::kernels {

/// Columns that are factored or substituted at once. Wider panels are split until they are as narrow.
inline constexpr int narrow = 8;

namespace triangular_detail {

/// Rows of X L^T = A in place, for `Vectors` vectors of rows of A. `lower` holds L by rows of `narrow`
/// elements; its diagonal is one if `Unit`.
template <class Isa, int Columns, bool Unit, int Vectors, bool Partial, class T>
void solve_vectors(const T* lower, const T* inverse_diagonal, T* a, std::int64_t leading, int last) {
  using S = Simd<Isa, T>;
  constexpr int full = Partial ? Vectors - 1 : Vectors;
  typename S::Vec x[Columns][Vectors];
#pragma GCC unroll 8
  for (int j = 0; j < Columns; ++j) {
    T* const column = a + j * leading;
#pragma GCC unroll 2
    for (int v = 0; v < full; ++v) x[j][v] = S::load(column + v * S::width);
    if constexpr (Partial) x[j][full] = S::load(column + full * S::width, last);
#pragma GCC unroll 8
    for (int p = 0; p < j; ++p) {
      const auto factor = S::broadcast(lower[j * narrow + p]);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) x[j][v] = S::multiply_subtract(x[p][v], factor, x[j][v]);
    }
    if constexpr (!Unit) {
      const auto scale = S::broadcast(inverse_diagonal[j]);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) x[j][v] = S::multiply(x[j][v], scale);
    }
#pragma GCC unroll 2
    for (int v = 0; v < full; ++v) S::store(column + v * S::width, x[j][v]);
    if constexpr (Partial) S::store(column + full * S::width, x[j][full], last);
  }
}

}  // namespace triangular_detail

/// X L^T = A for the rows of a column-major A (rows by Columns), in place. With `Unit`, the diagonal of L is
/// one and inverse_diagonal is not read.
template <class Isa, int Columns, bool Unit, class T>
void solve_rows(int rows, const T* lower, const T* inverse_diagonal, T* a, std::int64_t leading) {
  constexpr int width = Simd<Isa, T>::width;
  using triangular_detail::solve_vectors;
  int i = 0;
  for (; i + 2 * width <= rows; i += 2 * width) {
    solve_vectors<Isa, Columns, Unit, 2, false>(lower, inverse_diagonal, a + i, leading, width);
  }
  if (i + width <= rows) {
    solve_vectors<Isa, Columns, Unit, 1, false>(lower, inverse_diagonal, a + i, leading, width);
    i += width;
  }
  if (i < rows) solve_vectors<Isa, Columns, Unit, 1, true>(lower, inverse_diagonal, a + i, leading, rows - i);
}

/// Calls f with the constant `columns`, which is 1, ..., narrow.
template <class F>
auto with_constant(int columns, const F& f) {
  static_assert(narrow == 8);
  switch (columns) {
    case 1:
      return f(std::integral_constant<int, 1>());
    case 2:
      return f(std::integral_constant<int, 2>());
    case 3:
      return f(std::integral_constant<int, 3>());
    case 4:
      return f(std::integral_constant<int, 4>());
    case 5:
      return f(std::integral_constant<int, 5>());
    case 6:
      return f(std::integral_constant<int, 6>());
    case 7:
      return f(std::integral_constant<int, 7>());
    default:
      return f(std::integral_constant<int, 8>());
  }
}

/// X = L^-1 X for a column-major X of n rows and a unit lower triangular L of order n.
template <class Isa, class T>
void solve_unit_lower(PackBuffers<T>& buffers, int n, const T* l, std::int64_t leading_l, int columns, T* x,
                      std::int64_t leading_x) {
  if (n > narrow) {
    const int half = (n / 2 + narrow - 1) / narrow * narrow;
    solve_unit_lower<Isa>(buffers, half, l, leading_l, columns, x, leading_x);
    subtract_product<Isa>(buffers, Part::full, n - half, columns, half, l + half, leading_l,
                          RightOperand<T>{x, 1, leading_x}, x + half, leading_x);
    solve_unit_lower<Isa>(buffers, n - half, l + half * (leading_l + 1), leading_l, columns, x + half,
                          leading_x);
    return;
  }
  with_constant(n, [&](auto count) {
    constexpr int order = count;
    T lower[narrow * narrow] = {};
    for (int j = 0; j < order; ++j) {
      for (int i = j + 1; i < order; ++i) lower[i * narrow + j] = l[i + j * leading_l];
    }
    for (int j = 0; j < columns; ++j) {
      T* const column = x + j * leading_x;
      T u[narrow];
#pragma GCC unroll 8
      for (int i = 0; i < order; ++i) {
        T sum = column[i];
#pragma GCC unroll 8
        for (int p = 0; p < i; ++p) sum = minus_product(sum, lower[i * narrow + p], u[p]);
        u[i] = column[i] = sum;
      }
    }
  });
}

}  // namespace echelon::kernels

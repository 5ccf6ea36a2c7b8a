// SPDX-License-Identifier: BSD-3-Clause
/// Substitution with the factors of one front.
///
/// Right-hand sides are gathered to W: `columns` of them side by side, row by row, so that element (i, c) is
/// w[i * columns + c]. The transpose of W is a column-major matrix of `columns` rows, whose rows are vectors.
/// A single right-hand side has kernels of its own, in solve_vector.hpp.
#pragma once

#include "sparse_direct/multifrontal/fronts/front.hpp"
#include "sparse_direct/multifrontal/host/dense_kernels.hpp"

#include <algorithm>
#include <cstdint>

namespace echelon::sparse_direct {

namespace solve_detail {

/// Element (i, j) is data[i * row_step + j * column_step].
template <class Isa, class T>
struct StridedMatrix {
  const T* data;
  std::int64_t row_step;
  std::int64_t column_step;
  [[nodiscard]] const T* at(int i, int j) const { return data + i * row_step + j * column_step; }
  [[nodiscard]] StridedMatrix from(int i, int j) const { return {at(i, j), row_step, column_step}; }
  [[nodiscard]] StridedMatrix transposed() const { return {data, column_step, row_step}; }
};

/// Computes Y = Y - A X: Y is rows by `columns`, X terms by `columns`.
template <class Isa, class T>
void subtract_multiple(int columns, int rows, int terms, StridedMatrix<Isa, T> a, const T* x, T* y) {
  if (rows <= 0 || terms <= 0) return;
  kernels::product_detail::update_in_place<Isa>(Part::full, columns, rows, terms, x, columns,
                                                RightOperand<T>{a.data, a.column_step, a.row_step}, y,
                                                columns);
}

/// Solves M X = X for a small lower triangular M, or upper triangular with Direction -1, where x is the last
/// row and M(i, j) is addressed from the last one backwards.
template <class Isa, int Count, bool Unit, class T>
void solve_small(int columns, StridedMatrix<Isa, T> m, T* x, std::int64_t step) {
  T lower[narrow * narrow] = {};
  T inverse_diagonal[narrow] = {};
  for (int j = 0; j < Count; ++j) {
    for (int p = 0; p < j; ++p) lower[j * narrow + p] = *m.at(j, p);
    if constexpr (!Unit) inverse_diagonal[j] = reciprocal(*m.at(j, j));
  }
  solve_rows<Isa, Count, Unit>(columns, lower, inverse_diagonal, x, step);
}

/// Solves M X = X for a lower triangular M of order n.
template <class Isa, bool Unit, class T>
void solve_forward(int columns, int n, StridedMatrix<Isa, T> m, T* x) {
  for (int j = 0; j < n; j += narrow) {
    const int count = std::min(narrow, n - j);
    T* block = x + static_cast<std::int64_t>(j) * columns;
    with_constant(count, [&](auto c) { solve_small<Isa, c, Unit>(columns, m.from(j, j), block, columns); });
    subtract_multiple<Isa>(columns, n - j - count, count, m.from(j + count, j), block,
                           block + static_cast<std::int64_t>(count) * columns);
  }
}

/// Solves M X = X for an upper triangular M of order n.
template <class Isa, bool Unit, class T>
void solve_backward(int columns, int n, StridedMatrix<Isa, T> m, T* x) {
  for (int end = n; end > 0; end -= std::min(narrow, end)) {
    const int count = std::min(narrow, end);
    const StridedMatrix<Isa, T> reversed{m.at(end - 1, end - 1), -m.row_step, -m.column_step};
    T* last = x + static_cast<std::int64_t>(end - 1) * columns;
    with_constant(count, [&](auto c) { solve_small<Isa, c, Unit>(columns, reversed, last, -columns); });
    subtract_multiple<Isa>(columns, end - count, count, m.from(0, end - count),
                           x + static_cast<std::int64_t>(end - count) * columns, x);
  }
}

}  // namespace solve_detail

/// Computes W_1 = L_1^-1 W_1 and W_2 = W_2 - L_2 W_1 for the rows W_1 of the front's pivots and the rows W_2
/// below.
template <class Isa, bool Unit, class T>
void solve_lower(const FactoredFront<T>& front, int columns, T* w) {
  using namespace solve_detail;
  const int e = front.eliminated;
  const StridedMatrix<Isa, T> l{front.lower, 1, front.size};
  solve_forward<Isa, Unit>(columns, e, l, w);
  subtract_multiple<Isa>(columns, front.size - e, e, l.from(e, 0), w,
                         w + static_cast<std::int64_t>(e) * columns);
}

/// Computes W_1 = L_1^-T (W_1 - L_2^T W_2).
template <class Isa, bool Unit, class T>
void solve_lower_transposed(const FactoredFront<T>& front, int columns, T* w) {
  using namespace solve_detail;
  const int e = front.eliminated;
  const StridedMatrix<Isa, T> l{front.lower, 1, front.size};
  subtract_multiple<Isa>(columns, e, front.size - e, l.from(e, 0).transposed(),
                         w + static_cast<std::int64_t>(e) * columns, w);
  solve_backward<Isa, Unit>(columns, e, l.transposed(), w);
}

/// Computes W_1 = U_1^-1 (W_1 - U_2 W_2) for the columns U_2 to the right of the pivots.
template <class Isa, class T>
void solve_upper(const FactoredFront<T>& front, int columns, T* w) {
  using namespace solve_detail;
  const int e = front.eliminated;
  const int below = front.size - front.pivots;
  const StridedMatrix<Isa, T> u{front.lower, 1, front.size};
  subtract_multiple<Isa>(columns, e, front.pivots - e, u.from(0, e),
                         w + static_cast<std::int64_t>(e) * columns, w);
  subtract_multiple<Isa>(columns, e, below, StridedMatrix<Isa, T>{front.right, below, 1},
                         w + static_cast<std::int64_t>(front.pivots) * columns, w);
  solve_backward<Isa, false>(columns, e, u, w);
}

/// Computes W_1 = U_1^-T W_1 and W_2 = W_2 - U_2^T W_1.
template <class Isa, class T>
void solve_upper_transposed(const FactoredFront<T>& front, int columns, T* w) {
  using namespace solve_detail;
  const int e = front.eliminated;
  const int below = front.size - front.pivots;
  const StridedMatrix<Isa, T> u{front.lower, 1, front.size};
  solve_forward<Isa, false>(columns, e, u.transposed(), w);
  subtract_multiple<Isa>(columns, front.pivots - e, e, u.from(0, e).transposed(), w,
                         w + static_cast<std::int64_t>(e) * columns);
  subtract_multiple<Isa>(columns, below, e, StridedMatrix<Isa, T>{front.right, 1, below}, w,
                         w + static_cast<std::int64_t>(front.pivots) * columns);
}

}  // namespace echelon::sparse_direct

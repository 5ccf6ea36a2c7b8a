// SPDX-License-Identifier: BSD-3-Clause
/// Operations on one column of a panel.
#pragma once

#include "linalg/kernels/triangular.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace echelon::kernels {

/// a = a - L u for a column a and up to narrow - 1 columns of L. Returns the largest magnitude of the result.
template <class Isa, int Terms, class T>
Real<T> update_column(int rows, const T* l, std::int64_t leading, const T* u, T* a) {
  using S = Simd<Isa, T>;
  constexpr int width = S::width;
  typename S::Factor factor[std::max(Terms, 1)];
#pragma GCC unroll 8
  for (int p = 0; p < Terms; ++p) factor[p] = S::broadcast(u[p]);
  auto largest = S::zero();
  int i = 0;
  for (; i + width <= rows; i += width) {
    auto x = S::load(a + i);
#pragma GCC unroll 8
    for (int p = 0; p < Terms; ++p) x = S::multiply_subtract(S::load(l + i + p * leading), factor[p], x);
    if constexpr (Terms > 0) S::store(a + i, x);
    largest = S::max_magnitude(largest, x);
  }
  if (i < rows) {
    auto x = S::load(a + i, rows - i);
#pragma GCC unroll 8
    for (int p = 0; p < Terms; ++p) {
      x = S::multiply_subtract(S::load(l + i + p * leading, rows - i), factor[p], x);
    }
    if constexpr (Terms > 0) S::store(a + i, x, rows - i);
    largest = S::max_magnitude(largest, x);
  }
  return S::largest(largest);
}

/// Index of the first of `rows` elements whose magnitude is at least `bound`; one must exist.
template <class Isa, class T>
int first_at_least(int rows, const T* a, Real<T> bound) {
  using S = Simd<Isa, T>;
  int i = 0;
  for (; i + S::width <= rows; i += S::width) {
    const unsigned bits = S::at_least(S::load(a + i), bound);
    if (bits != 0) return i + std::countr_zero(bits);
  }
  while (!(pivot_size(a[i]) >= bound)) ++i;
  return i;
}

/// a = a / divisor; by the reciprocal unless that overflows.
template <class Isa, class T>
void divide(int rows, T divisor, T* a) {
  using S = Simd<Isa, T>;
  if (pivot_size(divisor) < std::numeric_limits<Real<T>>::min()) {
    for (int i = 0; i < rows; ++i) a[i] /= divisor;
    return;
  }
  const auto factor = S::broadcast(reciprocal(divisor));
  int i = 0;
  for (; i + S::width <= rows; i += S::width) S::store(a + i, S::multiply(S::load(a + i), factor));
  if (i < rows) S::store(a + i, S::multiply(S::load(a + i, rows - i), factor), rows - i);
}

}  // namespace echelon::kernels

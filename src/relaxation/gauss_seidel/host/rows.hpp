// SPDX-License-Identifier: BSD-3-Clause
/// Rows of a sweep on the host: order, sums and dependencies.
#pragma once

#include "relaxation/gauss_seidel/host/fma.hpp"
#include "relaxation/gauss_seidel/row.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace echelon::gauss_seidel {

enum class SweepDirection { forward, backward };

/// A sweep in one direction over a group of right-hand sides. The values of a row are used for all of them
/// while the row is in the first-level cache.
template <class T>
struct HalfSweep {
  std::int64_t rows;
  const std::int64_t* row_offsets;
  const std::int32_t* column_indices;
  const T* values;
  std::int64_t right_hand_sides;
  const T* b;
  std::int64_t leading_b;
  T* x;
  std::int64_t leading_x;
  Relaxation<T> relax;
};

/// Right-hand sides per group: large enough to read A seldom, small enough for their vectors to share the
/// cache.
inline constexpr std::int64_t max_columns = 8;

/// The group of right-hand sides that begins at `column`.
template <class T>
HalfSweep<T> half_sweep(const Sweeps<T>& sweeps, std::int64_t column) {
  const Csr<T>& A = *sweeps.A;
  return {.rows = A.rows(),
          .row_offsets = A.row_offsets().data(),
          .column_indices = A.column_indices().data(),
          .values = A.values().data(),
          .right_hand_sides = std::min(max_columns, sweeps.right_hand_sides - column),
          .b = sweeps.b + column * sweeps.leading_b,
          .leading_b = sweeps.leading_b,
          .x = sweeps.x + column * sweeps.leading_x,
          .leading_x = sweeps.leading_x,
          .relax = Relaxation<T>(sweeps.omega)};
}

/// Calls f.template operator()<direction>(half) for each half of each sweep, one group of columns after
/// another.
template <class T, class F>
void for_each_half(const Sweeps<T>& sweeps, const F& f) {
  for (std::int64_t column = 0; column < sweeps.right_hand_sides; column += max_columns) {
    const HalfSweep<T> half = half_sweep(sweeps, column);
    for (std::int64_t s = 0; s < sweeps.sweeps; ++s) {
      if (sweeps.kind != SweepKind::backward) f.template operator()<SweepDirection::forward>(half);
      if (sweeps.kind != SweepKind::forward) f.template operator()<SweepDirection::backward>(half);
    }
  }
}

/// Position of row i in the order of the sweep, and vice versa.
template <SweepDirection direction>
std::int64_t sweep_position(std::int64_t i, std::int64_t rows) {
  return direction == SweepDirection::forward ? i : rows - 1 - i;
}

template <class T>
struct ReadX {
  const T* x;
  T operator()(std::int64_t j) const { return x[j]; }
};

/// condition ? a : b without a branch.
template <class T>
T select(bool condition, T a, T b) {
  if constexpr (is_complex<T>) {
    return {select(condition, a.real(), b.real()), select(condition, a.imag(), b.imag())};
  } else {
    using Values [[gnu::vector_size(16)]] = T;
    using Bits [[gnu::vector_size(16)]] = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
    const Bits mask{condition ? -1 : 0};
    const Bits selected = (std::bit_cast<Bits>(Values{a}) & mask) | (std::bit_cast<Bits>(Values{b}) & ~mask);
    return std::bit_cast<Values>(selected)[0];
  }
}

template <class T>
bool has_finite_parts(T x) {
  if constexpr (is_complex<T>) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  } else {
    return std::isfinite(x);
  }
}

/// Sum of a lower part that is followed by its diagonal element. With unpredictable row lengths a
/// mispredicted branch costs more than a few elements: the first two products are always computed, with the
/// diagonal element in place of missing ones, and added only if they exist. 10.6 ms instead of 16.8 on 2
/// million rows of two elements.
template <class T, class X>
T sum_before_diagonal(const std::int32_t* columns, const T* values, std::int64_t k, std::int64_t diagonal,
                      const X& x) {
  const auto add = [&](std::int64_t e, T sum) {
    const std::int64_t at = std::min(e, diagonal);
    return select(e < diagonal, multiply_add(values[at], x(columns[at]), sum), sum);
  };
  T sum = add(k + 1, add(k, T{0}));
  for (k += 2; k < diagonal; ++k) [[unlikely]] sum = multiply_add(values[k], x(columns[k]), sum);
  return sum;
}

/// Prefetches x for elements 128 nonzeros ahead in a backward sweep over a lower triangle, about 64 rows of
/// the published statistics. Forward sweeps gain nothing, since they have just written these values.
/// Measured: 6.0 ns per row instead of 10.4. Always inline: gcc drops calls of a function that only
/// prefetches.
template <class T>
[[gnu::always_inline]] inline void prefetch_lower(const std::int32_t* columns, std::int64_t k, const T* x) {
  constexpr std::int64_t distance = 128;
  __builtin_prefetch(x + columns[std::max(k - distance, std::int64_t{0})]);
  __builtin_prefetch(x + columns[std::max(k + 1 - distance, std::int64_t{0})]);
}

/// Sums of a row whose parts may have more than chain_limit elements. Not inlined: loops over rows that
/// contain it take four times as long to compile.
template <SweepDirection direction, class T, class NewX, class OldX>
[[gnu::noinline]] RowSums<T> sums_of_long_row(const HalfSweep<T>& half, std::int64_t i, const NewX& new_x,
                                              const OldX& old_x) {
  const std::int64_t begin = half.row_offsets[i];
  const std::int64_t end = half.row_offsets[i + 1];
  RowSums<T> sums;
  with_fused_multiply_add([&] {
    if constexpr (direction == SweepDirection::forward) {
      sums = row_sums(half.column_indices, half.values, begin, end, i, new_x, old_x);
    } else {
      sums = row_sums(half.column_indices, half.values, begin, end, i, old_x, new_x);
    }
  });
  return sums;
}

/// Sums of row i. new_x(j) and old_x(j) are unknowns behind and ahead of the sweep. `previous` is the value
/// computed last, which need not be read back from memory.
template <SweepDirection direction, class T, class NewX, class OldX>
RowSums<T> sums_of_row(const HalfSweep<T>& half, std::int64_t i, T previous, const NewX& new_x,
                       const OldX& old_x) {
  const std::int32_t* const columns = half.column_indices;
  const T* const values = half.values;
  std::int64_t k = half.row_offsets[i];
  const std::int64_t end = half.row_offsets[i + 1];
  constexpr bool forward = direction == SweepDirection::forward;
  if (end - k > chain_limit) [[unlikely]]
    return sums_of_long_row<direction>(half, i, new_x, old_x);
  RowSums<T> sums;
  if (k < end && columns[end - 1] == i) {  // a row of a lower triangle: no search for the diagonal
    if constexpr (forward) {
      sums.lower = sum_before_diagonal(columns, values, k, end - 1, new_x);
    } else {
      prefetch_lower(columns, k, old_x.x);
      sums.lower = sum_before_diagonal(columns, values, k, end - 1, old_x);
    }
    sums.diagonal = values[end - 1];
    return sums;
  }
  const std::int64_t left = forward ? i - 1 : i;
  for (; k < end && columns[k] < left; ++k) {
    const T x = forward ? new_x(columns[k]) : old_x(columns[k]);
    sums.lower = multiply_add(values[k], x, sums.lower);
  }
  if (forward && k < end && columns[k] == i - 1) sums.lower = multiply_add(values[k++], previous, sums.lower);
  if (k < end && columns[k] == i) sums.diagonal = values[k++];
  const bool has_adjacent = !forward && k < end && columns[k] == i + 1;
  for (std::int64_t far = end; far-- > k + (has_adjacent ? 1 : 0);) {
    const T x = forward ? old_x(columns[far]) : new_x(columns[far]);
    sums.upper = multiply_add(values[far], x, sums.upper);
  }
  if (has_adjacent) sums.upper = multiply_add(values[k], previous, sums.upper);
  return sums;
}

/// The new x_i from the sums of its row. old_x(i) is read only where it is needed. Sets `skip` if the
/// diagonal element is zero or missing.
template <SweepDirection direction, class T, class OldX>
T relax_row(const Relaxation<T>& relax, const RowSums<T>& sums, T b, std::int64_t i, const OldX& old_x,
            bool& skip) {
  const T first = direction == SweepDirection::forward ? sums.upper : sums.lower;
  const T second = direction == SweepDirection::forward ? sums.lower : sums.upper;
  const T x = relax(b, first, second, sums.diagonal, relax.omega == T{1} ? T{0} : old_x(i));
  if (has_finite_parts(x))
      [[likely]]  // one test finds NaNs, overflow and zero diagonals, whose inverse is infinite
    return x;
  skip = sums.diagonal == T{0};
  return canonical(skip ? old_x(i) : x);
}

/// Distances to the nearest and the farthest earlier row that a row depends on; 0 without dependencies.
struct DependencyReach {
  std::int64_t nearest = 0;
  std::int64_t farthest = 0;
};

template <SweepDirection direction, class T>
DependencyReach dependency_reach(const HalfSweep<T>& half, std::int64_t row) {
  const std::int64_t i = sweep_position<direction>(row, half.rows);
  const std::int32_t* columns = half.column_indices;
  const RowSplit parts = split_row(columns, half.row_offsets[i], half.row_offsets[i + 1], i);
  if constexpr (direction == SweepDirection::forward) {
    if (parts.begin == parts.diagonal) return {};
    return {i - columns[parts.diagonal - 1], i - columns[parts.begin]};
  } else {
    if (parts.upper == parts.end) return {};
    return {columns[parts.upper] - i, columns[parts.end - 1] - i};
  }
}

/// The first row from `row` on that does not depend on the one before it; `limit` if there is none before.
template <SweepDirection direction, class T>
std::int64_t next_line_start(const HalfSweep<T>& half, std::int64_t row, std::int64_t limit) {
  while (row < limit && dependency_reach<direction>(half, row).nearest == 1) ++row;
  return row;
}

}  // namespace echelon::gauss_seidel

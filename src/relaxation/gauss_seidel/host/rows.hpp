// SPDX-License-Identifier: BSD-3-Clause
/// What the sweeps on the host share.
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

enum class Direction { forward, backward };

/// A sweep in one direction for a few right-hand sides, whose values of a row are asked for one after another
/// while the row is in the first cache.
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

/// As many right-hand sides as are swept over together: enough to read A seldom, and few enough that their
/// vectors do not compete for the cache.
inline constexpr std::int64_t columns_at_once = 8;

/// The right-hand sides from `column` on, as many as are swept over together.
template <class T>
HalfSweep<T> half_sweep(const Sweeps<T>& sweeps, std::int64_t column) {
  const Csr<T>& A = *sweeps.A;
  return {A.rows(),
          A.row_offsets().data(),
          A.column_indices().data(),
          A.values().data(),
          std::min(columns_at_once, sweeps.right_hand_sides - column),
          sweeps.b + column * sweeps.leading_b,
          sweeps.leading_b,
          sweeps.x + column * sweeps.leading_x,
          sweeps.leading_x,
          Relaxation<T>(sweeps.omega)};
}

/// Calls f.template operator()<direction>(half) for each half of each sweep, group of columns by group.
template <class T, class F>
void for_each_half(const Sweeps<T>& sweeps, const F& f) {
  for (std::int64_t column = 0; column < sweeps.right_hand_sides; column += columns_at_once) {
    const HalfSweep<T> half = half_sweep(sweeps, column);
    for (std::int64_t s = 0; s < sweeps.sweeps; ++s) {
      if (sweeps.kind != SweepKind::backward) f.template operator()<Direction::forward>(half);
      if (sweeps.kind != SweepKind::forward) f.template operator()<Direction::backward>(half);
    }
  }
}

/// Rows are numbered in the order of the sweep, and columns with them.
template <Direction direction>
std::int64_t in_order(std::int64_t i, std::int64_t rows) {
  return direction == Direction::forward ? i : rows - 1 - i;
}

template <class T>
struct ReadX {
  const T* x;
  T operator()(std::int64_t j) const { return x[j]; }
};

/// `there` ? a : b, without a branch.
template <class T>
T choose(bool there, T a, T b) {
  using Values [[gnu::vector_size(16)]] = T;
  using Bits [[gnu::vector_size(16)]] = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  const Bits mask{there ? -1 : 0};
  const Bits chosen = (std::bit_cast<Bits>(Values{a}) & mask) | (std::bit_cast<Bits>(Values{b}) & ~mask);
  return std::bit_cast<Values>(chosen)[0];
}

/// The sum of a lower part that its diagonal element follows. Where the lengths of rows cannot be foreseen, a
/// branch taken wrongly costs more than a few elements: two are multiplied whether they are there or not, the
/// diagonal one in place of what is missing, and only what is there is added.
template <class T, class X>
T sum_before_diagonal(const std::int32_t* columns, const T* values, std::int64_t k, std::int64_t diagonal,
                      const X& x) {
  const auto add = [&](std::int64_t e, T sum) {
    const std::int64_t at = std::min(e, diagonal);
    return choose(e < diagonal, multiply_add(values[at], x(columns[at]), sum), sum);
  };
  T sum = add(k + 1, add(k, T{0}));
  for (k += 2; k < diagonal; ++k) [[unlikely]] sum = multiply_add(values[k], x(columns[k]), sum);
  return sum;
}

/// Asks for what a backward sweep needs about 64 rows of a lower triangle later: unlike the values that a
/// forward sweep has just written, these are seldom in a cache. (Always inline: gcc drops calls of a function
/// that only asks.)
template <class T>
[[gnu::always_inline]] inline void ask_ahead(const std::int32_t* columns, std::int64_t k, const T* x) {
  constexpr std::int64_t distance = 128;
  __builtin_prefetch(x + columns[std::max(k - distance, std::int64_t{0})]);
  __builtin_prefetch(x + columns[std::max(k + 1 - distance, std::int64_t{0})]);
}

/// The sums of a row whose parts may be longer than one chain. Not inlined: loops over rows that contain it
/// take four times as long to compile.
template <Direction direction, class T, class NewX, class OldX>
[[gnu::noinline]] RowSums<T> sums_of_long_row(const HalfSweep<T>& half, std::int64_t i, const NewX& new_x,
                                              const OldX& old_x) {
  const std::int64_t begin = half.row_offsets[i];
  const std::int64_t end = half.row_offsets[i + 1];
  RowSums<T> sums;
  with_fused_multiply_add([&] {
    if constexpr (direction == Direction::forward) {
      sums = row_sums(half.column_indices, half.values, begin, end, i, new_x, old_x);
    } else {
      sums = row_sums(half.column_indices, half.values, begin, end, i, old_x, new_x);
    }
  });
  return sums;
}

/// The sums of row i. new_x(j) and old_x(j) are unknowns where the sweep has been and where it has not;
/// `previous` is the one that was computed just before, which need not go through memory on its way.
template <Direction direction, class T, class NewX, class OldX>
RowSums<T> sums_of_row(const HalfSweep<T>& half, std::int64_t i, T previous, const NewX& new_x,
                       const OldX& old_x) {
  const std::int32_t* const columns = half.column_indices;
  const T* const values = half.values;
  std::int64_t k = half.row_offsets[i];
  const std::int64_t end = half.row_offsets[i + 1];
  constexpr bool forward = direction == Direction::forward;
  if (end - k > chain_limit) [[unlikely]]
    return sums_of_long_row<direction>(half, i, new_x, old_x);
  RowSums<T> sums;
  if (k < end && columns[end - 1] == i) {  // as in a lower triangle: nothing has to be looked for
    if constexpr (forward) {
      sums.lower = sum_before_diagonal(columns, values, k, end - 1, new_x);
    } else {
      ask_ahead(columns, k, old_x.x);
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
  const bool next_to_it = !forward && k < end && columns[k] == i + 1;
  for (std::int64_t far = end; far-- > k + (next_to_it ? 1 : 0);) {
    const T x = forward ? old_x(columns[far]) : new_x(columns[far]);
    sums.upper = multiply_add(values[far], x, sums.upper);
  }
  if (next_to_it) sums.upper = multiply_add(values[k], previous, sums.upper);
  return sums;
}

/// The new x_i from the sums of its row; old_x(i) is only asked for where it counts. `skip` is set if the
/// diagonal element is zero or missing.
template <Direction direction, class T, class OldX>
T relaxed(const Relaxation<T>& relax, const RowSums<T>& sums, T b, std::int64_t i, const OldX& old_x,
          bool& skip) {
  const T first = direction == Direction::forward ? sums.upper : sums.lower;
  const T second = direction == Direction::forward ? sums.lower : sums.upper;
  const T x = relax(b, first, second, sums.diagonal, relax.omega == T{1} ? T{0} : old_x(i));
  if (std::isfinite(x)) [[likely]]  // one test for a NaN and for a row to skip, whose factor is infinite
    return x;
  skip = sums.diagonal == T{0};
  return one_nan(skip ? old_x(i) : x);
}

/// By how much the nearest and the farthest row that a row needs lie before it; 0 if it needs none.
struct Needs {
  std::int64_t nearest = 0;
  std::int64_t farthest = 0;
};

template <Direction direction, class T>
Needs needs_of(const HalfSweep<T>& half, std::int64_t row) {
  const std::int64_t i = in_order<direction>(row, half.rows);
  const std::int32_t* columns = half.column_indices;
  const RowParts parts = split_row(columns, half.row_offsets[i], half.row_offsets[i + 1], i);
  if constexpr (direction == Direction::forward) {
    if (parts.begin == parts.diagonal) return {};
    return {i - columns[parts.diagonal - 1], i - columns[parts.begin]};
  } else {
    if (parts.upper == parts.end) return {};
    return {columns[parts.upper] - i, columns[parts.end - 1] - i};
  }
}

/// The first row from `row` on that does not need the one before it; `limit` if there is none before.
template <Direction direction, class T>
std::int64_t next_line(const HalfSweep<T>& half, std::int64_t row, std::int64_t limit) {
  while (row < limit && needs_of<direction>(half, row).nearest == 1) ++row;
  return row;
}

}  // namespace echelon::gauss_seidel

// SPDX-License-Identifier: BSD-3-Clause
// Sweeps on one core, in place.
#include "relaxation/gauss_seidel/host/fma.hpp"
#include "relaxation/gauss_seidel/host/rows.hpp"
#include "relaxation/gauss_seidel/sweep.hpp"
#include "solver/iteration/iterative_method.hpp"

#include <support/scalar_list.hpp>

#include <array>

namespace echelon::gauss_seidel {

namespace {

/// `single`: there is one right-hand side.
template <SweepDirection direction, bool single, class T>
SkippedRows sweep_in_place(const HalfSweep<T> half) {
  SkippedRows skipped;
  std::array<T, single ? 1 : max_columns> previous{};
  const std::int64_t columns = single ? 1 : half.right_hand_sides;
  for (std::int64_t step = 0; step < half.rows; ++step) {
    const std::int64_t i = sweep_position<direction>(step, half.rows);
    bool skip = false;
    for (std::int64_t c = 0; c < columns; ++c) {
      T* x = half.x + c * half.leading_x;
      T& value = previous[static_cast<std::size_t>(c)];
      const ReadX<T> read{x};
      const RowSums<T> sums = sums_of_row<direction>(half, i, value, read, read);
      value = relax_row<direction>(half.relax, sums, half.b[i + c * half.leading_b], i, read, skip);
      x[i] = value;
    }
    if (skip) [[unlikely]]
      skipped = combine(skipped, SkippedRows{1, i});
  }
  return skipped;
}

/// Triangular solve for one right-hand side: the same arithmetic without the search for the diagonal.
template <SweepDirection direction, class T>
void solve_triangle(const HalfSweep<T> half, const T* b, T* x) {
  constexpr bool forward = direction == SweepDirection::forward;
  for (std::int64_t step = 0; step < half.rows; ++step) {
    const std::int64_t i = sweep_position<direction>(step, half.rows);
    const std::int64_t begin = half.row_offsets[i];
    const std::int64_t last = half.row_offsets[i + 1] - 1;
    const RowSide part = forward ? RowSide{begin, 1, last - begin} : RowSide{last, -1, last - begin};
    const T sum = part_sum(half.column_indices, half.values, part, ReadX<T>{x});
    const T a_ii = half.values[forward ? last : begin];
    x[i] = canonical((b[i] - sum) * (T{1} / a_ii));
  }
}

}  // namespace

template <class T>
void sweep_on_one_thread(const Sweeps<T>& sweeps) {
  if (sweeps.state != nullptr && !sweeps.state->running()) return;
  for_each_half(sweeps, [&]<SweepDirection direction>(const HalfSweep<T>& half) {
    SkippedRows skipped;
    with_fused_multiply_add([&] {
      if (sweeps.triangular) {
        for (std::int64_t c = 0; c < half.right_hand_sides; ++c) {
          solve_triangle<direction>(half, half.b + c * half.leading_b, half.x + c * half.leading_x);
        }
        return;
      }
      skipped = half.right_hand_sides == 1 ? sweep_in_place<direction, true>(half)
                                           : sweep_in_place<direction, false>(half);
    });
    if (sweeps.skipped != nullptr) *sweeps.skipped = skipped;
  });
}

#define ECHELON_INSTANTIATE(T) template void sweep_on_one_thread(const Sweeps<T>&);
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::gauss_seidel

// SPDX-License-Identifier: BSD-3-Clause
/// A long row, finished by a warp if all that it needs is there.
#pragma once

#include "relaxation/gauss_seidel/cuda/device_sweep.cuh"

namespace echelon::gauss_seidel {

/// In place of a value: the row is left over; plus its place among its region's leftovers.
template <class T>
inline constexpr Word<T> left_over = unpublished<T> & ~Word<T>{0x3fffff};

template <class T>
ECHELON_ANYWHERE bool is_value(Word<T> word) {
  return word < left_over<T>;
}

/// Values for a row that all lanes finish; those that cannot come are NaN.
template <class T, bool forward>
struct PresentValues {
  Word<T>* x;
  int row;
  [[nodiscard]] __device__ Word<T> look(std::int32_t column) const {
    if (forward ? column >= row : column <= row) return to_word(written_nan<T>);
    const Word<T> word =
        cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x[column]).load(cuda::memory_order_relaxed);
    return is_value<T>(word) ? word : unpublished<T>;
  }
  [[nodiscard]] __device__ T wait(std::int32_t /*column*/, Word<T> seen) const { return to_value<T>(seen); }
};

/// The sum of a part whose values are there. All lanes of the warp.
template <class T, class Values>
__device__ T present_sum(const DeviceSweep<T>& task, const Part& part, const Values& x) {
  if (part.count > chain_limit) return tree_by_warp(task.column_indices, task.values, part, x);
  const auto value = [&](std::int32_t column) { return x.wait(column, x.look(column)); };
  return chain(task.column_indices, task.values, part, std::int64_t{0}, std::int64_t{1}, value);
}

/// Finishes a long row if all is there. All lanes of the warp.
template <class T, bool forward>
__device__ __noinline__ bool try_row(const DeviceSweep<T>& task, unsigned side, int i) {
  const RowParts parts = split_row(task.column_indices, task.row_offsets[i], task.row_offsets[i + 1], i);
  const Part part = forward ? parts.lower_part() : parts.upper_part();
  auto* const x = reinterpret_cast<Word<T>*>(task.x + side * task.leading_x);
  const T* const old = task.old + side * task.leading_old;
  const PresentValues<T, forward> present{x, i};
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  bool there = true;
  for (std::int64_t e = lane; e < part.count; e += warp_lanes) {
    there = there && present.look(task.column_indices[part.first + e * part.step]) != unpublished<T>;
  }
  if (!__all_sync(every_lane, there)) return false;
  const T known = present_sum(task, forward ? parts.upper_part() : parts.lower_part(), KnownValues<T>{old});
  const T sum = present_sum(task, part, present);
  if (lane == 0) {
    const T a_ii = parts.has_diagonal() ? task.values[parts.diagonal] : T{0};
    T value = old[i];
    if (a_ii == T{0}) {
      if (task.skipped != nullptr && side == 0) count_skipped(*task.skipped, i);
    } else {
      const T b = task.b[side * task.leading_b + i];
      value = task.relaxation.finish(task.relaxation.begin(b, known, a_ii, value), sum);
    }
    cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x[i]).store(to_word(one_nan(value)),
                                                                     cuda::memory_order_relaxed);
  }
  __syncwarp();
  return true;
}

}  // namespace echelon::gauss_seidel

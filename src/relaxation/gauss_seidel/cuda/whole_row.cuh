// SPDX-License-Identifier: BSD-3-Clause
/// Rows that a warp computes from the matrix alone, without prepared data, if all their values are ready.
#pragma once

#include "relaxation/gauss_seidel/cuda/device_sweep.cuh"

namespace echelon::gauss_seidel {

/// Marks an element of x whose row has been deferred. deferred_mark + k is row k of its region's list of
/// deferred rows. Like not_ready, these are NaNs that no sweep writes.
template <class T>
inline constexpr Word<T> deferred_mark = not_ready<T> & ~Word<T>{0x3fffff};

template <class T>
ECHELON_ANYWHERE bool is_value(Word<T> word) {
  return word < deferred_mark<T>;
}

/// New values for row `row`; not_ready while there is none. Columns that the sweep reaches later, which
/// unsorted columns may cause, read as NaN, so that no row waits for itself.
template <class T, bool forward>
struct AvailableValues {
  Word<T>* x;
  int row;
  [[nodiscard]] __device__ Word<T> load(std::int32_t column) const {
    if (forward ? column >= row : column <= row) return to_word(canonical_nan<T>);
    const Word<T> word =
        cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x[column]).load(cuda::memory_order_relaxed);
    return is_value<T>(word) ? word : not_ready<T>;
  }
  [[nodiscard]] __device__ T await(std::int32_t /*column*/, Word<T> loaded) const {
    return to_value<T>(loaded);
  }
};

/// Sum of a part whose values are all ready. Warp-collective.
template <class T, class Values>
__device__ T available_sum(const DeviceSweep<T>& task, const RowSide& part, const Values& x) {
  if (part.count > chain_limit) return long_part_sum(task.column_indices, task.values, part, x);
  const auto value = [&](std::int32_t column) { return x.await(column, x.load(column)); };
  return chain(task.column_indices, task.values, part, std::int64_t{0}, std::int64_t{1}, value);
}

/// Computes and publishes row i if all its new values are ready; returns false otherwise. Warp-collective.
template <class T, bool forward>
__device__ __noinline__ bool try_finish_row(const DeviceSweep<T>& task, unsigned rhs, int i) {
  const RowSplit parts = split_row(task.column_indices, task.row_offsets[i], task.row_offsets[i + 1], i);
  const RowSide part = forward ? parts.lower_part() : parts.upper_part();
  auto* const x = reinterpret_cast<Word<T>*>(task.x + rhs * task.leading_x);
  const T* const old = task.old + rhs * task.leading_old;
  const AvailableValues<T, forward> present{x, i};
  const int lane = lane_id();
  bool available = true;
  for (std::int64_t e = lane; e < part.count; e += warp_size) {
    available = available && present.load(task.column_indices[part.first + e * part.step]) != not_ready<T>;
  }
  if (!__all_sync(full_warp, available)) return false;
  const T known_sum =
      available_sum(task, forward ? parts.upper_part() : parts.lower_part(), KnownValues<T>{old});
  const T sum = available_sum(task, part, present);
  if (lane == 0) {
    const T a_ii = parts.has_diagonal() ? task.values[parts.diagonal] : T{0};
    T value = old[i];
    if (a_ii == T{0}) {
      if (task.skipped != nullptr && rhs == 0) count_skipped(*task.skipped, i);
    } else {
      const T b = task.b[rhs * task.leading_b + i];
      value = task.relaxation.finish(task.relaxation.begin(b, known_sum, a_ii, value), sum);
    }
    cuda::atomic_ref<Word<T>, cuda::thread_scope_device>(x[i]).store(to_word(canonical(value)),
                                                                     cuda::memory_order_relaxed);
  }
  __syncwarp();
  return true;
}

}  // namespace echelon::gauss_seidel

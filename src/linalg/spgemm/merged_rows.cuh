// SPDX-License-Identifier: BSD-3-Clause
/// Products of sparse matrices on a GPU: short rows that a thread merges in registers.
#pragma once

#include "linalg/spgemm/bins.cuh"

#include <cuda/std/limits>

namespace echelon::product_kernels {

/// The rows of B that belong to a row of A, merged in ascending columns.
template <class T>
class MergedRows {
 public:
  static constexpr std::int32_t no_column = cuda::std::numeric_limits<std::int32_t>::max();

  /// Row i of A has at most most_merged elements.
  __device__ MergedRows(const View<T>& A, const View<T>& B, std::int64_t i) : B_(B) {
    const std::int64_t first = A.row_offsets[i];
    const int length = static_cast<int>(A.row_offsets[i + 1] - first);
#pragma unroll
    for (int k = 0; k < most_merged; ++k) {
      if (k >= length) continue;
      const std::int32_t row = A.column_indices[first + k];
      factors_[k] = A.values[first + k];
      places_[k] = static_cast<std::uint32_t>(B.row_offsets[row]);
      stops_[k] = static_cast<std::uint32_t>(B.row_ends[row]);
    }
#pragma unroll
    for (int k = 0; k < most_merged; ++k) load(k);
  }

  /// The next column and its element of C, summed in ascending k; no_column after the last.
  __device__ std::int32_t next(T& sum) {
    std::int32_t least = columns_[0];
#pragma unroll
    for (int k = 1; k < most_merged; ++k) least = min(least, columns_[k]);
    sum = -T{0};  // the neutral element of addition, also for -0
    if (least == no_column) return least;
#pragma unroll
    for (int k = 0; k < most_merged; ++k) {
      if (columns_[k] != least) continue;
      sum = rounded_sum(sum, rounded_product(factors_[k], values_[k]));
      ++places_[k];
      load(k);
    }
    return least;
  }

 private:
  /// Loads the next element of row k, which is then in flight while others are summed.
  __device__ void load(int k) {
    columns_[k] = no_column;
    if (places_[k] == stops_[k]) return;
    columns_[k] = B_.column_indices[places_[k]];
    values_[k] = B_.values[places_[k]];
  }

  const View<T>& B_;
  T factors_[most_merged];
  std::uint32_t places_[most_merged] = {};
  std::uint32_t stops_[most_merged] = {};
  std::int32_t columns_[most_merged];  // of the next elements, or no_column
  T values_[most_merged];
};

/// Computes the rows of C in a list, one thread per row, and writes their ends; a row without enough room is
/// empty. Four elements at a time are written together if the room begins and ends at multiples of four.
/// Memory movement: a row of A once, the rows of B that it refers to once, from the caches where nearby rows
/// of A share them, and the row of C once.
template <class T>
__global__ void __launch_bounds__(block_size)
    merge_rows(unsigned size, const unsigned* list, const __grid_constant__ View<T> A,
               const __grid_constant__ View<T> B, const std::int64_t* offsets, RowEnds ends,
               std::int32_t* columns, T* values) {
  constexpr int batch = room_multiple;
  struct alignas(16) Columns {
    std::int32_t at[batch];
  };
  struct alignas(16) Values {
    T at[batch];
  };
  const unsigned entry = blockIdx.x * block_size + threadIdx.x;
  if (entry >= size) return;
  const std::int64_t i = list[entry];
  std::int64_t place = offsets[i];
  const std::int64_t stop = offsets[i + 1];
  const bool is_aligned = (place | stop) % batch == 0;
  MergedRows<T> rows(A, B, i);
  int found = batch;
  for (; found == batch; place += found) {
    Columns next_columns;
    Values next_values;
    found = 0;
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      next_columns.at[e] = rows.next(next_values.at[e]);
      found += next_columns.at[e] != MergedRows<T>::no_column ? 1 : 0;
    }
    if (found == 0) break;
    if (place + found > stop) {
      *ends.overflow = 1;
      place = offsets[i];
      break;
    }
    if (is_aligned) {
      *reinterpret_cast<Columns*>(columns + place) = next_columns;
      *reinterpret_cast<Values*>(values + place) = next_values;
      continue;
    }
#pragma unroll
    for (int e = 0; e < batch; ++e) {
      if (e >= found) continue;
      columns[place + e] = next_columns.at[e];
      values[place + e] = next_values.at[e];
    }
  }
  ends.ends[i] = place;
}

}  // namespace echelon::product_kernels

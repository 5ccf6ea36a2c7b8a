// SPDX-License-Identifier: BSD-3-Clause
/// Products of sparse matrices on a GPU: rows too long for any hash table are computed in windows of columns,
/// each of them dense in shared memory.
#pragma once

#include "backend/lower_bound.hpp"
#include "linalg/spgemm/hash_tables.cuh"

#include <cub/block/block_scan.cuh>
#include <cuda/std/limits>

namespace echelon::product_kernels {

inline constexpr int window = 2048;
inline constexpr int own_columns = window / block_size;
inline constexpr int tile = 1024;

/// A window of a row, dense in shared memory. Column c is written by thread c % block_size only.
template <class T>
struct WindowMemory {
  T sums[window];
  std::int32_t tile_columns[tile];
  T tile_terms[tile];
  std::int64_t begins[block_size];  // of the parts of rows of B within the window
  std::int64_t factors[block_size];
  int starts[block_size + 1];  // exclusive prefix sum of the parts' lengths
  typename cub::BlockScan<int, block_size>::TempStorage scan;
  unsigned present[window / warp_size];
};

/// Finds the parts within the window of the rows of B for elements [k, k + block_size) of a row of A. Returns
/// their total length, which is the number of products.
template <class T>
__device__ int find_parts(WindowMemory<T>& memory, const View<T>& A, const View<T>& B, std::int64_t k,
                          std::int64_t end, std::int64_t first_column) {
  std::int64_t begin = 0;
  int size = 0;
  if (k + threadIdx.x < end) {
    const std::int32_t row = A.column_indices[k + threadIdx.x];
    const std::int64_t row_end = B.row_ends[row];
    begin = lower_bound(B.column_indices, B.row_offsets[row], row_end, first_column);
    size = static_cast<int>(
        lower_bound(B.column_indices, begin, min(row_end, begin + window), first_column + window) - begin);
  }
  int start = 0;
  int products = 0;
  cub::BlockScan<int, block_size>(memory.scan).ExclusiveSum(size, start, products);
  memory.begins[threadIdx.x] = begin;
  memory.starts[threadIdx.x] = start;
  if (threadIdx.x == 0) memory.starts[block_size] = products;
  __syncthreads();
  return products;
}

/// Copies products [first, first + tile) to the tile, by ascending elements of A.
template <bool with_terms, class T>
__device__ void stage(WindowMemory<T>& memory, const View<T>& A, const View<T>& B, std::int64_t k, int first,
                      int products) {
  for (int p = static_cast<int>(threadIdx.x); p < min(tile, products - first); p += block_size) {
    int low = 0;  // bisection for the last part that starts at or before the product
    int high = block_size;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (memory.starts[middle] <= first + p ? low : high) = middle;
    }
    const std::int64_t e = memory.begins[low] + first + p - memory.starts[low];
    memory.tile_columns[p] = B.column_indices[e];
    if constexpr (with_terms) memory.tile_terms[p] = rounded_product(A.values[k + low], B.values[e]);
  }
  __syncthreads();
}

/// Sums the products of row i within the window, and sets bit s of `own` if this thread's s-th column occurs.
template <bool with_terms, class T>
__device__ void accumulate_window(WindowMemory<T>& memory, const View<T>& A, const View<T>& B, std::int64_t i,
                                  std::int64_t first_column, unsigned& own) {
  const std::int64_t end = A.row_offsets[i + 1];
  for (std::int64_t k = A.row_offsets[i]; k < end; k += block_size) {
    const int products = find_parts(memory, A, B, k, end, first_column);
    for (int first = 0; first < products; first += tile) {
      stage<with_terms>(memory, A, B, k, first, products);
      for (int p = 0; p < min(tile, products - first); ++p) {
        const auto column = static_cast<int>(memory.tile_columns[p] - first_column);
        if (column % block_size != static_cast<int>(threadIdx.x)) continue;
        own |= 1U << (column / block_size);
        if constexpr (with_terms)
          memory.sums[column] = rounded_sum(memory.sums[column], memory.tile_terms[p]);
      }
      __syncthreads();
    }
  }
}

/// Counts the elements of rows in a list by windows: an item is a row and a window. Either output may be
/// null.
template <class T>
__global__ void __launch_bounds__(block_size)
    count_windows(std::int64_t items, std::int64_t windows, const unsigned* list, View<T> A, View<T> B,
                  int* window_counts, unsigned long long* counts) {
  __shared__ WindowMemory<T> memory;
  for (std::int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const std::int64_t i = list[item / windows];
    unsigned own = 0;
    accumulate_window<false>(memory, A, B, i, item % windows * window, own);
    int start = 0;
    int count = 0;
    cub::BlockScan<int, block_size>(memory.scan).ExclusiveSum(__popc(own), start, count);
    __syncthreads();
    if (threadIdx.x > 0) continue;
    if (window_counts != nullptr) window_counts[item] = count;
    if (counts != nullptr) atomicAdd(counts + i, static_cast<unsigned long long>(count));
  }
}

/// Number of elements of the row in the windows before number `window_number`.
template <class T>
__device__ std::int64_t count_before(WindowMemory<T>& memory, const int* window_counts,
                                     std::int64_t window_number) {
  int before = 0;
  for (std::int64_t w = threadIdx.x; w < window_number; w += block_size) before += window_counts[w];
  int start = 0;
  int total = 0;
  cub::BlockScan<int, block_size>(memory.scan).ExclusiveSum(before, start, total);
  __syncthreads();
  return total;
}

/// Writes the elements of a window to index `target` and following, in ascending columns.
template <Compute compute, class T>
__device__ void write_window(WindowMemory<T>& memory, unsigned own, std::int64_t first_column,
                             std::int64_t target, std::int32_t* columns, T* values) {
  for (int s = 0; s < own_columns; ++s) {
    const unsigned word = __ballot_sync(full_warp, (own >> s & 1) != 0);
    const int place = (s * block_size + static_cast<int>(threadIdx.x)) / warp_size;
    if (threadIdx.x % warp_size == 0) memory.present[place] = word;
  }
  __syncthreads();
  int before = 0;
  int next_word = 0;
  for (int s = 0; s < own_columns; ++s) {
    const int word = (s * block_size + static_cast<int>(threadIdx.x)) / warp_size;
    for (; next_word < word; ++next_word) before += __popc(memory.present[next_word]);
    if ((own >> s & 1) == 0) continue;
    const int below = __popc(memory.present[word] & lanes_before(lane_id()));
    const int column = s * block_size + static_cast<int>(threadIdx.x);
    columns[target + before + below] = static_cast<std::int32_t>(first_column + column);
    if constexpr (compute == Compute::both) values[target + before + below] = memory.sums[column];
  }
}

template <Compute compute, class T>
__global__ void __launch_bounds__(block_size)
    fill_windows(std::int64_t items, std::int64_t windows, const unsigned* list, View<T> A, View<T> B,
                 const int* window_counts, const std::int64_t* offsets, std::int32_t* columns, T* values) {
  __shared__ WindowMemory<T> memory;
  for (std::int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const std::int64_t i = list[item / windows];
    const std::int64_t number = item % windows;
    for (int s = 0; s < own_columns; ++s) memory.sums[s * block_size + static_cast<int>(threadIdx.x)] = -T{0};
    unsigned own = 0;
    accumulate_window<compute == Compute::both>(memory, A, B, i, number * window, own);
    const std::int64_t target = offsets[i] + count_before(memory, window_counts + (item - number), number);
    write_window<compute>(memory, own, number * window, target, columns, values);
    __syncthreads();
  }
}

/// True if the columns found are exactly the `size` columns given.
template <class T>
__device__ bool are_expected(WindowMemory<T>& memory, unsigned own, std::int64_t first_column,
                             const std::int32_t* columns, std::int64_t size) {
  if (threadIdx.x < window / warp_size) memory.present[threadIdx.x] = 0;
  __syncthreads();
  for (std::int64_t e = threadIdx.x; e < size; e += block_size) {
    const auto column = static_cast<int>(columns[e] - first_column);
    atomicOr(&memory.present[column / warp_size], 1U << (column % warp_size));
  }
  __syncthreads();
  bool is_different = false;
  for (int s = 0; s < own_columns; ++s) {
    const int column = s * block_size + static_cast<int>(threadIdx.x);
    const bool is_present = (memory.present[column / warp_size] >> (column % warp_size) & 1) != 0;
    is_different = is_different || ((own >> s & 1) != 0) != is_present;
  }
  return __syncthreads_or(static_cast<int>(is_different)) == 0;
}

/// Values of rows with known columns, by windows. NaN for windows with other columns than those.
template <class T>
__global__ void __launch_bounds__(block_size)
    update_windows(std::int64_t items, std::int64_t windows, const unsigned* list, View<T> A, View<T> B,
                   const std::int64_t* offsets, const std::int32_t* columns, T* values) {
  __shared__ WindowMemory<T> memory;
  for (std::int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const std::int64_t i = list[item / windows];
    const std::int64_t first_column = item % windows * window;
    for (int s = 0; s < own_columns; ++s) memory.sums[s * block_size + static_cast<int>(threadIdx.x)] = -T{0};
    unsigned own = 0;
    accumulate_window<true>(memory, A, B, i, first_column, own);
    const std::int64_t begin = lower_bound(columns, offsets[i], offsets[i + 1], first_column);
    const std::int64_t end = lower_bound(columns, begin, offsets[i + 1], first_column + window);
    const bool is_known = are_expected(memory, own, first_column, columns + begin, end - begin);
    for (std::int64_t e = begin + threadIdx.x; e < end; e += block_size) {
      values[e] =
          is_known ? memory.sums[columns[e] - first_column] : cuda::std::numeric_limits<T>::quiet_NaN();
    }
    __syncthreads();
  }
}

}  // namespace echelon::product_kernels

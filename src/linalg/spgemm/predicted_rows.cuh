// SPDX-License-Identifier: BSD-3-Clause
/// Products of sparse matrices on a GPU: lengths of rows that are predicted from a sample, and rows with room
/// for more elements than they have.
#pragma once

#include "linalg/spgemm/hash_tables.cuh"
#include "support/hash.hpp"

#include <algorithm>
#include <vector>

namespace echelon::product_kernels {

/// Rows of a sample, which takes less time than counting from this number of rows on.
inline constexpr std::int64_t sampled_rows = 512;
inline constexpr std::int64_t least_predicted_rows = 4096;

/// Count of a row that is too long for the table.
inline constexpr std::int64_t not_counted = -1;

/// Row `s` of the sample of `rows` rows: one at a random place in each of equal ranges.
__device__ inline std::int64_t sampled_row(std::int64_t s, std::int64_t rows) {
  const std::int64_t range = rows / sampled_rows;
  const std::uint64_t place = hash_bits((static_cast<std::uint64_t>(s) + 1) * golden_ratio_64);
  return s * range + static_cast<std::int64_t>(place % static_cast<std::uint64_t>(range));
}

/// counts[s] = the number of elements of row s of the sample of C, one block per row.
template <class T>
__global__ void __launch_bounds__(block_size) count_sample(View<T> A, View<T> B, std::int64_t* counts) {
  using Group = CountByBlock;
  __shared__ unsigned long long products;
  __shared__ unsigned count;
  const HashTable<Group> table{reinterpret_cast<std::int32_t*>(shared_memory)};
  const std::int64_t i = sampled_row(blockIdx.x, A.rows);
  const std::int64_t begin = A.row_offsets[i];
  const std::int64_t end = A.row_offsets[i + 1];
  if (threadIdx.x == 0) products = count = 0;
  table.clear();
  __syncthreads();
  for (std::int64_t k = begin + threadIdx.x; k < end; k += block_size) {
    const std::int32_t row = A.column_indices[k];
    atomicAdd(&products, static_cast<unsigned long long>(B.row_ends[row] - B.row_offsets[row]));
  }
  __syncthreads();
  if (end - begin > max_group_row || products > Group::capacity) {
    if (threadIdx.x == 0) counts[blockIdx.x] = not_counted;
    return;
  }
  for_products<Group>(A, B, i, [&](const ProductTerm<T>& term) {
    bool is_new = false;
    table.claim(B.column_indices[term.b], is_new);
    if (is_new) atomicAdd(&count, 1U);
  });
  __syncthreads();
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

/// Elements for which a row gets room, given the counts of a sample: a quarter more than the longest row has.
/// 0 if rows were too long to be counted, or the longest one is much longer than the mean.
inline std::int64_t predicted_room(const std::vector<std::int64_t>& counts) {
  constexpr std::int64_t most_over_mean = 4;
  std::int64_t longest = 0;
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) {
    if (count == not_counted) return 0;
    longest = std::max(longest, count);
    sum += count;
  }
  const std::int64_t room = longest + longest / 4 + 8;
  const bool is_even = longest * static_cast<std::int64_t>(counts.size()) <= most_over_mean * sum;
  return is_even && room <= FillByBlock::capacity ? room : 0;
}

/// lengths[i] = length of row i, whose room begins at offsets[i].
struct MeasureRows {
  const std::int64_t* offsets;
  const std::int64_t* ends;
  std::int64_t* lengths;
  __device__ void operator()(std::int64_t i) const { lengths[i] = ends[i] - offsets[i]; }
};

/// Copies element k of row i from its place in the room to that in the matrix without room.
template <class T>
struct CopyElement {
  const std::int64_t* room_offsets;
  const std::int64_t* offsets;
  const std::int32_t* room_columns;
  const T* room_values;
  std::int32_t* columns;
  T* values;
  __device__ void operator()(std::int64_t i, std::int64_t k) const {
    const std::int64_t place = room_offsets[i] + (k - offsets[i]);
    columns[k] = room_columns[place];
    values[k] = room_values[place];
  }
};

}  // namespace echelon::product_kernels

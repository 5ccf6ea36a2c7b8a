// SPDX-License-Identifier: BSD-3-Clause
/// Products of a sparse matrix with several vectors on a GPU: a thread block stages its nonzeros in shared
/// memory, and every thread sums a row for several vectors from there.
#pragma once

#include "linalg/spmv/row_sums.cuh"

namespace echelon::row_sums {

/// Nonzeros of a block of rows in shared memory.
template <class T>
struct Staged {
  T values[padded_size<T>];
  std::int32_t columns[padded_size<std::int32_t>];
  int3 long_rows[row_block_size / max_per_lane];  // row, begin, end
  int long_count;
};

/// Copies nonzeros [begin, end) to shared memory, from index 0 on.
template <class T>
__device__ void stage(std::int64_t begin, std::int64_t end, std::int64_t nonzeros,
                      const std::int32_t* __restrict__ columns, const T* __restrict__ values,
                      Staged<T>& staged) {
  using Nonzeros = BlockNonzeros<T>;
  Nonzeros block;
  block.load(begin, end, nonzeros, columns, values);
#pragma unroll
  for (int p = 0; p < Nonzeros::packs; ++p) {
#pragma unroll
    for (int i = 0; i < Nonzeros::P::size; ++i) {
      const int k = Nonzeros::index(p, i);
      staged.values[padded_index<T>(k)] = block.values[p].at[i];
      staged.columns[padded_index<std::int32_t>(k)] = block.columns[p].at[i];
    }
  }
}

/// The threads that multiply one row, and this thread's position among them: `lanes` threads split the
/// nonzeros, for each of `across` groups of columns. Both are powers of two. Consecutive threads have
/// consecutive rows if X is column-major, and consecutive column groups of one row if X is row-major, so that
/// they access consecutive memory.
struct RowThreads {
  int lanes;
  int across;
  int rows;  ///< at a time
  int step;  ///< from one lane to the next, within a warp
  int row;
  int lane;
  int group;  ///< of columns
  __device__ RowThreads(bool by_column, int lanes_, int across_)
      : lanes(lanes_), across(across_), rows(block_size / (lanes * across)), step(by_column ? 1 : across) {
    const int thread = static_cast<int>(threadIdx.x);
    const int place = by_column ? thread % (rows * lanes) : thread / across;
    row = place / lanes;
    lane = place % lanes;
    group = by_column ? thread / (rows * lanes) : thread % across;
  }
};

/// Range of a row's nonzeros in shared memory.
struct Span {
  int begin;
  int end;
};

/// Adds the products with nonzeros k, k + lanes, ..., `ahead` of them but none from `end` on, to the sums of
/// `width` columns.
template <int width, int ahead, class T, class X>
__device__ void add_products(const Staged<T>& staged, int k, int end, int lanes, const X& x,
                             T (&sums)[width]) {
  T values[ahead];
  T factors[ahead][width];
#pragma unroll
  for (int a = 0; a < ahead; ++a) {
    if (a > 0 && k + a * lanes >= end) continue;
    values[a] = staged.values[padded_index<T>(k + a * lanes)];
    x.load(staged.columns[padded_index<std::int32_t>(k + a * lanes)], factors[a]);
  }
#pragma unroll
  for (int a = 0; a < ahead; ++a) {
    if (a > 0 && k + a * lanes >= end) continue;
#pragma unroll
    for (int c = 0; c < width; ++c) sums[c] += rounded_product(values[a], factors[a][c]);
  }
}

/// use(row, c, sum of the products in the span) for `width` columns c. Eight loads are in flight at a time.
/// Products are rounded before they are added, and added in the order of the product with a single vector, so
/// that each column has the same bits as there. `x` loads the elements of a row of X.
template <int width, class T, class X, class Use>
__device__ void multiply_row(const Staged<T>& staged, Span span, const RowThreads& threads, bool wanted,
                             const X& x, const Use& use, std::int64_t row) {
  constexpr int ahead = 8 / width;
  T sums[width] = {};
  for (int k = span.begin + threads.lane; k < span.end; k += ahead * threads.lanes) {
    add_products<width, ahead>(staged, k, span.end, threads.lanes, x, sums);
  }
#pragma unroll
  for (int c = 0; c < width; ++c) {
    for (int delta = threads.lanes / 2; delta > 0; delta /= 2) {
      sums[c] += shuffle_down(sums[c], delta * threads.step);
    }
    if (wanted && threads.lane == 0) use(row, c, sums[c]);
  }
}

/// The rows of a block, and their offsets.
struct BlockRows {
  std::int64_t first;
  int count;
  std::int64_t begin;  ///< nonzero that is staged at index 0
  const std::int64_t* offsets;
  __device__ Span span(int row) const {
    if (row >= count) return {0, 0};
    return {static_cast<int>(offsets[row] - begin), static_cast<int>(offsets[row + 1] - begin)};
  }
};

/// Multiplies the staged rows. Rows that are too long for their lanes are listed in `long_rows`.
template <int width, class T, class X, class Use>
__device__ void multiply_rows(Staged<T>& staged, const BlockRows& rows, const RowThreads& threads, const X& x,
                              const Use& use) {
  for (int next = 0; next < rows.count; next += threads.rows) {
    const int row = next + threads.row;
    const Span span = rows.span(row);
    const bool is_long = threads.lanes < warp_size && span.end - span.begin > max_per_lane * threads.lanes;
    if (is_long && threads.lane == 0 && threads.group == 0) {
      staged.long_rows[atomicAdd(&staged.long_count, 1)] = {row, span.begin, span.end};
    }
    multiply_row<width>(staged, is_long ? Span{0, 0} : span, threads, row < rows.count && !is_long, x, use,
                        rows.first + row);
  }
}

/// Multiplies the rows in `long_rows` by a warp each.
template <int width, class T, class X, class Use>
__device__ void multiply_long_rows(const Staged<T>& staged, const BlockRows& rows, const X& x,
                                   const Use& use) {
  for (int k = static_cast<int>(threadIdx.x) / warp_size; k < staged.long_count;
       k += block_size / warp_size) {
    const int3 row = staged.long_rows[k];
    multiply_row<width>(staged, {row.y, row.z}, RowThreads(true, warp_size, 1), true, x, use,
                        rows.first + row.x);
  }
}

/// The rows of this thread block, staged. Synchronises the block.
template <class T>
__device__ BlockRows stage_block_rows(const longlong2* __restrict__ starts, std::int64_t nonzeros,
                                      const std::int64_t* __restrict__ row_offsets,
                                      const std::int32_t* __restrict__ columns, const T* __restrict__ values,
                                      Staged<T>& staged) {
  const longlong2 start = starts[blockIdx.x];
  const longlong2 end = starts[blockIdx.x + 1];
  if (threadIdx.x == 0) staged.long_count = 0;
  const std::int64_t begin = start.y / row_block_alignment * row_block_alignment;
  stage<T>(begin, end.y, nonzeros, columns, values, staged);
  __syncthreads();
  return {start.x, static_cast<int>(end.x - start.x) - (fits_row_block(start.y, end.y) ? 0 : 1), begin,
          row_offsets + start.x};
}

}  // namespace echelon::row_sums

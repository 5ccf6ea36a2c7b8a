// SPDX-License-Identifier: BSD-3-Clause
/// The product of a sparse matrix whose rows follow a few stencils with a vector on a GPU.
#pragma once

#include "linalg/spmv/row_sums.cuh"

namespace echelon::row_sums {

/// Values [begin, min(end, begin + row_block_size)) in the registers of a thread block, zeros beyond the end.
/// A thread issues all its loads before it stores the first value, to hide their latency.
template <class T>
struct BlockValues {
  using P = Pack<T>;
  static constexpr int packs = row_block_size / (block_size * P::size);
  typename P::Values values[packs];

  __device__ void load(std::int64_t begin, std::int64_t end, std::int64_t nonzeros,
                       const T* __restrict__ all_values) {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
      const std::int64_t k = begin + BlockNonzeros<T>::index(p, 0);
      if (k < end && k + P::size <= nonzeros) {
        values[p] = *reinterpret_cast<const typename P::Values*>(all_values + k);
        continue;
      }
#pragma unroll
      for (int i = 0; i < P::size; ++i) values[p].at[i] = k + i < end ? all_values[k + i] : T{0};
    }
  }
  __device__ void store(T* staged) const {
#pragma unroll
    for (int p = 0; p < packs; ++p) {
#pragma unroll
      for (int i = 0; i < P::size; ++i) {
        staged[padded_index<T>(BlockNonzeros<T>::index(p, i))] = values[p].at[i];
      }
    }
  }
};

/// The columns of a matrix, as differences from the row where the row has a stencil.
struct StencilColumns {
  const StencilRow* __restrict__ rows;
  const std::int32_t* __restrict__ differences;
  const std::int64_t* __restrict__ row_offsets;
  const std::int32_t* __restrict__ columns;
};

/// Nonzeros of a row: element e has the staged value begin + e and the column base + columns[e].
struct RowElements {
  int begin = 0;
  int size = 0;
  std::int32_t base = 0;
  const std::int32_t* columns = nullptr;

  RowElements() = default;
  __device__ RowElements(const StencilColumns& all, StencilRow own, std::int64_t row) : begin(own.begin()) {
    if (own.has_stencil()) {
      size = own.length();
      base = static_cast<std::int32_t>(row);
      columns = all.differences + own.first();
    } else {
      const std::int64_t first = all.row_offsets[row];
      size = static_cast<int>(all.row_offsets[row + 1] - first);
      columns = all.columns + first;
    }
  }
};

/// The sum of a row's products by `lanes` consecutive threads, in the order of sum_products; valid in the
/// first of them. All threads of the warp call this. Eight loads of x are in flight at a time.
template <class T, class X>
__device__ T sum_row(const T* values, const RowElements& row, int lanes, X x) {
  constexpr int ahead = 8;
  T sum = 0;
  for (int e = static_cast<int>(threadIdx.x) % lanes; e < row.size; e += ahead * lanes) {
    T factors[ahead];
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      if (e + a * lanes < row.size) factors[a] = x[row.base + row.columns[e + a * lanes]];
    }
#pragma unroll
    for (int a = 0; a < ahead; ++a) {
      if (e + a * lanes >= row.size) continue;
      sum += rounded_product(values[padded_index<T>(row.begin + e + a * lanes)], factors[a]);
    }
  }
  return warp_sum(sum, lanes);
}

/// multiply_blocks for a matrix with stencils, with the same bits. Memory movement: values, and 4 bytes a row
/// in place of the columns and offsets, are read once, the stencils from the L1 cache, x from the caches or
/// once per block.
template <class T, class X, class Use>
__global__ void __launch_bounds__(block_size, sizeof(T) == 8 ? 5 : 6)
    multiply_stencil_blocks(const RowDivision division, std::int64_t nonzeros,
                            const std::int64_t* __restrict__ row_offsets,
                            const std::int32_t* __restrict__ columns, const T* __restrict__ all_values,
                            const StencilRow* __restrict__ stencil_rows,
                            const std::int32_t* __restrict__ differences, X x, Use use,
                            const PieceSums sums) {
  __shared__ T values[padded_size<T>];
  __shared__ int long_rows[row_block_size / max_per_lane];
  __shared__ int long_count;
  if (blockIdx.x < division.piece_count) {
    const RowBlocks::Piece piece = division.pieces[blockIdx.x];
    multiply_piece(piece, columns, all_values, x, use, sums);
    return;
  }
  const longlong2 start = division.starts[blockIdx.x - division.piece_count];
  const longlong2 end = division.starts[blockIdx.x - division.piece_count + 1];
  const StencilColumns all{stencil_rows, differences, row_offsets, columns};
  const int rows = static_cast<int>(end.x - start.x) - (fits_row_block(start.y, end.y) ? 0 : 1);
  const int lanes = lanes_for(rows);
  const int own = static_cast<int>(threadIdx.x) / lanes;
  const bool first_lane = threadIdx.x % lanes == 0;
  if (threadIdx.x == 0) long_count = 0;
  BlockValues<T> block;
  block.load(start.y / row_block_alignment * row_block_alignment, end.y, nonzeros, all_values);
  StencilRow next_row;  // loaded before it is needed
  if (own < rows) next_row = stencil_rows[start.x + own];
  block.store(values);
  __syncthreads();
  for (int next = 0; next < rows; next += block_size / lanes) {
    const int row = next + own;
    const StencilRow packed = next_row;
    if (row + block_size / lanes < rows) next_row = stencil_rows[start.x + row + block_size / lanes];
    RowElements elements;
    if (row < rows) elements = RowElements(all, packed, start.x + row);
    const bool is_long = lanes < warp_size && elements.size > max_per_lane * lanes;
    if (is_long) elements.size = 0;
    const T sum = sum_row(values, elements, lanes, x);
    if (is_long && first_lane) long_rows[atomicAdd(&long_count, 1)] = row;
    if (row < rows && !is_long && first_lane) use(start.x + row, sum);
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x) / warp_size; k < long_count; k += block_size / warp_size) {
    const std::int64_t row = start.x + long_rows[k];
    const T sum = sum_row(values, RowElements(all, stencil_rows[row], row), warp_size, x);
    if (threadIdx.x % warp_size == 0) use(row, sum);
  }
}

}  // namespace echelon::row_sums

// SPDX-License-Identifier: BSD-3-Clause
/// The product of a sparse matrix whose rows follow a few stencils with a vector on a GPU.
#pragma once

#include "linalg/spmv/row_sums.cuh"

#include <cuda_pipeline.h>

#include <type_traits>

namespace echelon::row_sums {

/// Index of value k in shared memory: 16 bytes of padding after every 128 keep threads that read rows of 8,
/// 16,
/// ... values from the same bank, and packs of 16 bytes aligned.
template <class T>
__device__ int staged_index(int k) {
  constexpr int line = 128 / sizeof(T);
  return k + k / line * Pack<T>::size;
}
template <class T>
constexpr int staged_size = row_block_size + row_block_size / 8;

/// A block of rows, [first, first + rows), with its nonzeros [begin, end) as they are loaded.
struct StencilBlock {
  std::int64_t first = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int rows = 0;

  StencilBlock() = default;
  __device__ StencilBlock(const longlong2& start, const longlong2& stop)
      : first(start.x),
        begin(start.y / row_block_alignment * row_block_alignment),
        end(min(static_cast<std::int64_t>(stop.y), begin + row_block_size)),
        rows(static_cast<int>(stop.x - start.x) - (fits_row_block(start.y, stop.y) ? 0 : 1)) {}
};

/// Begins to copy the values of a block to shared memory, without registers between.
template <class T>
__device__ void stage_values(const StencilBlock& block, std::int64_t nonzeros,
                             const T* __restrict__ all_values, T* staged) {
  constexpr int size = Pack<T>::size;
  const int count = static_cast<int>(block.end - block.begin);
  for (int k = static_cast<int>(threadIdx.x) * size; k < count; k += block_size * size) {
    const T* const source = all_values + block.begin + k;
    T* const target = staged + staged_index<T>(k);
    if (block.begin + k + size <= nonzeros) {
      __pipeline_memcpy_async(target, source, sizeof(T) * size);
      continue;
    }
    for (int e = 0; k + e < count; ++e) target[e] = source[e];
  }
  __pipeline_commit();
}

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
      sum += rounded_product(values[staged_index<T>(row.begin + e + a * lanes)], factors[a]);
    }
  }
  return warp_sum(sum, lanes);
}

/// Rows of a block that are too long for their lanes.
struct LongRows {
  int rows[row_block_size / max_per_lane];
  int count;
};

/// Resident thread blocks of a multiprocessor, whose shared memory leaves enough of the L1 cache for x.
template <class T>
inline constexpr int stencil_blocks_resident = sizeof(T) == 8 ? 4 : 5;

/// The operands of the use of a product for one row, loaded before the product is known to hide their
/// latency.
struct NoOperands {};
template <class Use>
__device__ auto load_operands(const Use& use, std::int64_t row) {
  if constexpr (requires { use.load(row); }) {
    return use.load(row);
  } else {
    return NoOperands{};
  }
}
template <class T, class Use, class Operands>
__device__ void use_sum(const Use& use, std::int64_t row, T sum, const Operands& operands) {
  if constexpr (std::is_same_v<Operands, NoOperands>) {
    use(row, sum);
  } else {
    use(row, sum, operands);
  }
}

/// Multiplies the staged rows of a block, `lanes` threads each; long rows are listed and multiplied by warps.
/// The operands of the thread's first row have been loaded.
template <class T, class X, class Use, class Operands>
__device__ void multiply_staged(const T* values, const StencilBlock& block, const StencilColumns& all,
                                StencilRow packed, Operands operands, X x, const Use& use, LongRows& longer) {
  const int lanes = lanes_for(block.rows);
  const int step = block_size / lanes;
  const bool first_lane = threadIdx.x % lanes == 0;
  for (int row = static_cast<int>(threadIdx.x) / lanes, next = 0; next < block.rows;
       row += step, next += step) {
    const std::int64_t i = block.first + row;
    if (next > 0 && row < block.rows) {
      packed = all.rows[i];
      operands = load_operands(use, i);
    }
    RowElements elements;
    if (row < block.rows) elements = RowElements(all, packed, i);
    const bool is_long = lanes < warp_size && elements.size > max_per_lane * lanes;
    if (is_long) elements.size = 0;
    const T sum = sum_row(values, elements, lanes, x);
    if (is_long && first_lane) longer.rows[atomicAdd(&longer.count, 1)] = row;
    if (row < block.rows && !is_long && first_lane) use_sum(use, i, sum, operands);
  }
  __syncthreads();
  for (int k = static_cast<int>(threadIdx.x) / warp_size; k < longer.count; k += block_size / warp_size) {
    const std::int64_t i = block.first + longer.rows[k];
    const T sum = sum_row(values, RowElements(all, all.rows[i], i), warp_size, x);
    if (threadIdx.x % warp_size == 0) use(i, sum);
  }
}

/// multiply_blocks for a matrix with stencils, with the same bits. All thread blocks are resident, and each
/// computes every gridDim.x-th block of rows: the values of the next one are copied to shared memory while
/// this one is multiplied, since a block spends most of its time waiting for one access to memory after
/// another. Memory movement: values, and 4 bytes a row in place of the columns and offsets, are read once,
/// the stencils from the L1 cache, x from the caches or once per block.
template <class T, class X, class Use>
__global__ void __launch_bounds__(block_size, stencil_blocks_resident<T>)
    multiply_stencil_blocks(const RowDivision division, unsigned blocks, std::int64_t nonzeros,
                            const std::int64_t* __restrict__ row_offsets,
                            const std::int32_t* __restrict__ columns, const T* __restrict__ all_values,
                            const StencilRow* __restrict__ stencil_rows,
                            const std::int32_t* __restrict__ differences, X x, Use use,
                            const PieceSums sums) {
  __shared__ alignas(16) T values[2][staged_size<T>];
  __shared__ LongRows longer;
  for (unsigned p = blockIdx.x; p < division.piece_count; p += gridDim.x) {
    multiply_piece(division.pieces[p], p, columns, all_values, x, use, sums);
    __syncthreads();
  }
  const StencilColumns all{stencil_rows, differences, row_offsets, columns};
  longlong2 start{};  // of the next block, loaded a block before its values
  longlong2 stop{};
  const auto load_starts = [&](unsigned block) {
    start = block < blocks ? division.starts[block] : longlong2{};
    stop = block < blocks ? division.starts[block + 1] : longlong2{};
  };
  load_starts(blockIdx.x);
  StencilBlock next(start, stop);
  stage_values(next, nonzeros, all_values, values[0]);
  load_starts(blockIdx.x + gridDim.x);
  int buffer = 0;
  for (unsigned b = blockIdx.x; b < blocks; b += gridDim.x, buffer ^= 1) {
    const StencilBlock block = next;
    const int own = static_cast<int>(threadIdx.x) / lanes_for(block.rows);
    StencilRow packed;
    decltype(load_operands(use, 0)) operands{};
    if (own < block.rows) {
      packed = stencil_rows[block.first + own];
      operands = load_operands(use, block.first + own);
    }
    next = StencilBlock(start, stop);
    stage_values(next, nonzeros, all_values, values[buffer ^ 1]);
    load_starts(b + 2 * gridDim.x);
    if (threadIdx.x == 0) longer.count = 0;
    __pipeline_wait_prior(1);
    __syncthreads();
    multiply_staged(values[buffer], block, all, packed, operands, x, use, longer);
    __syncthreads();
  }
  __pipeline_wait_prior(0);
}

}  // namespace echelon::row_sums

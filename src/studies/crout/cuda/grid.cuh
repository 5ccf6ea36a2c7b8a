// SPDX-License-Identifier: BSD-3-Clause
/// Pivots among all blocks of a grid, and products of a tile's rows.
#pragma once

#include "backend/cuda/grid.cuh"
#include "backend/cuda/warp.cuh"
#include "dense/panels/magnitude_bits.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace echelon::crout {

/// An element as a candidate for the pivot: the largest magnitude wins, the first row among equals. NaN is
/// larger than any number.
struct PivotMaximum {
  std::uint64_t magnitude = 0;  ///< magnitude_bits
  std::int64_t row = INT64_MAX;
  friend __device__ PivotMaximum combine(PivotMaximum a, PivotMaximum b) {
    const bool second = b.magnitude > a.magnitude || (b.magnitude == a.magnitude && b.row < a.row);
    return second ? b : a;
  }
};

template <class T>
__device__ PivotMaximum candidate(T element, std::int64_t row) {
  return {magnitude_bits(element), row};
}

/// The best of the warp's candidates, for all of its lanes.
__device__ inline PivotMaximum warp_best(PivotMaximum best) {
#pragma unroll
  for (int delta = warp_size / 2; delta > 0; delta /= 2) {
    const PivotMaximum other{__shfl_xor_sync(full_warp, best.magnitude, delta),
                             __shfl_xor_sync(full_warp, best.row, delta)};
    best = combine(best, other);
  }
  return best;
}

/// The best of the block's candidates, for all of its threads. Barriers are inside.
template <int threads>
__device__ PivotMaximum block_best(PivotMaximum best) {
  __shared__ PivotMaximum of_warp[threads / warp_size];
  best = warp_best(best);
  __syncthreads();  // every thread has read the results of the preceding call
  if (lane_id() == 0) of_warp[threadIdx.x / warp_size] = best;
  __syncthreads();
  return warp_best(lane_id() < threads / warp_size ? of_warp[lane_id()] : PivotMaximum{});
}

/// Best of the candidates that the blocks of the grid have published; every warp computes it.
__device__ inline PivotMaximum grid_best(const PivotMaximum* of_blocks) {
  PivotMaximum best;
  for (unsigned b = lane_id(); b < gridDim.x; b += warp_size) best = combine(best, of_blocks[b]);
  return warp_best(best);
}

/// Dot products sum_k l(row, k) u(k) for the rows of a tile, k < count: thread t < tile_rows returns that of
/// row t. `tile_rows` is a power of two, at most 16; l points to the tile's first row and has the leading
/// dimension `leading`; rows from `rows` on are not read. `partial`: 16 values for each warp in shared
/// memory, free after the next barrier. A warp reads tile_rows neighbouring rows of several columns at once.
template <int threads, class T>
__device__ T tile_products(const T* l, std::int64_t leading, std::int64_t rows, const T* u,
                           std::int64_t count, int tile_rows, T* partial) {
  constexpr int warps = threads / warp_size;
  constexpr int unrolled = 8;
  const int t = static_cast<int>(threadIdx.x);
  const int row = t % tile_rows;
  const std::int64_t step = threads / tile_rows;
  T sum = 0;
  if (row < rows) {
    std::int64_t k = t / tile_rows;
    for (; k + (unrolled - 1) * step < count; k += unrolled * step) {
      T a[unrolled];
      T b[unrolled];
#pragma unroll
      for (int e = 0; e < unrolled; ++e) a[e] = l[(k + e * step) * leading + row];
#pragma unroll
      for (int e = 0; e < unrolled; ++e) b[e] = u[k + e * step];
#pragma unroll
      for (int e = 0; e < unrolled; ++e) sum += a[e] * b[e];
    }
    for (; k < count; k += step) sum += l[k * leading + row] * u[k];
  }
  for (int delta = warp_size / 2; delta >= tile_rows; delta /= 2) sum += shuffle_down(sum, delta);
  __syncthreads();  // every thread has read the partial sums of the preceding call
  if (lane_id() < tile_rows) partial[t / warp_size * 16 + lane_id()] = sum;
  __syncthreads();
  sum = 0;
  if (t < tile_rows) {
    for (int w = 0; w < warps; ++w) sum += partial[w * 16 + t];
  }
  return sum;
}

/// Rows of a tile, such that every block has a tile: 16, or fewer where the matrix has too few rows. A sector
/// of memory holds 4 doubles.
__device__ inline int rows_of_tile(std::int64_t rows) {
  int tile_rows = 16;
  while (tile_rows > 4 && rows < std::int64_t{tile_rows} * gridDim.x) tile_rows /= 2;
  return tile_rows;
}

}  // namespace echelon::crout

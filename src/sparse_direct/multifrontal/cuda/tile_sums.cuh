// SPDX-License-Identifier: BSD-3-Clause
/// Products of a tile of a factor's rows with parts of a vector.
#pragma once

#include "sparse_direct/multifrontal/cuda/substitution_arrays.cuh"

namespace echelon::sparse_direct::gpu {

/// Shared memory in which a tile's sums are added up.
template <class T>
struct TileScratch {
  T partial[substitution_threads];
  T rows[border_tile_rows];
};

/// Sums of a tile of rows, in the registers of a block's threads. A part of the matrix is added with its
/// elements of a row or with those of a column contiguous in memory.
template <class T, int rows>
class TileSums {
  static constexpr int groups = substitution_threads / rows;
  static constexpr int warp_rows = rows / substitution_warps;
  static constexpr int loads = is_complex<T> ? 8 : 16;  ///< of a thread that are in flight together

 public:
  /// Adds the products of `count` rows, whose elements are `leading` apart, in `width` columns with y. Each
  /// thread of a group of `rows` threads has one row; groups share the columns.
  __device__ __forceinline__ void add_strided(const T* elements, std::int64_t leading, int count, int width,
                                              const T* y) {
    const int r = static_cast<int>(threadIdx.x) % rows;
    const int group = static_cast<int>(threadIdx.x) / rows;
    const T* const row = elements + min(r, count - 1);
#pragma unroll(loads)
    for (int c = group; c < width; c += groups) multiply_add(strided_, row[c * leading], y[c]);
  }

  /// Adds `count` rows with contiguous elements, `leading` apart: a warp takes warp_rows rows.
  __device__ __forceinline__ void add_contiguous(const T* elements, std::int64_t leading, int count,
                                                 int width, const T* y) {
    const T* row[warp_rows];
#pragma unroll
    for (int k = 0; k < warp_rows; ++k)
      row[k] = elements + min(warp_id() * warp_rows + k, count - 1) * leading;
#pragma unroll(loads / warp_rows)
    for (int c = lane_id(); c < width; c += warp_size) {
      const T factor = y[c];
#pragma unroll
      for (int k = 0; k < warp_rows; ++k) multiply_add(contiguous_[k], row[k][c], factor);
    }
  }

  /// Returns the sum of row r to thread r of the block. All threads call it.
  __device__ __forceinline__ T total(TileScratch<T>& scratch) const {
    const int thread = static_cast<int>(threadIdx.x);
    __syncthreads();
    scratch.partial[thread] = strided_;
#pragma unroll
    for (int k = 0; k < warp_rows; ++k) {
      const T sum = warp_sum(contiguous_[k]);
      if (lane_id() == 0) scratch.rows[warp_id() * warp_rows + k] = sum;
    }
    __syncthreads();
    if (thread >= rows) return T{};
    T sum = scratch.rows[thread];
#pragma unroll
    for (int group = 0; group < groups; ++group) sum += scratch.partial[group * rows + thread];
    return sum;
  }

 private:
  T strided_{};
  T contiguous_[warp_rows] = {};
};

}  // namespace echelon::sparse_direct::gpu

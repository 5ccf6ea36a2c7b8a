// SPDX-License-Identifier: BSD-3-Clause
/// Kernels around cuSOLVER's factorisations of single large fronts.
#pragma once

#include "sparse_direct/multifrontal/cuda/arrays.cuh"

#include <cmath>
#include <cstdint>

namespace echelon::sparse_direct::gpu {

/// Records a pivot at which cuSOLVER failed; cuSOLVER counts from 1.
template <class T>
__global__ void record_vendor_failure(FactorArrays<T> arrays, const int* info, int first) {
  if (*info > 0) record_failure(arrays, first + *info - 1);
}

/// Converts row numbers that count from 1 to numbers that count from 0.
template <class Index>
__global__ void count_from_zero(int n, Index* rows) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) --rows[i];
}

/// Copies target(i, c) = source(i, order[c]) for matrices of `rows` rows. blockIdx.y: column.
template <class T>
__global__ void exchange_columns(std::int64_t rows, const T* source, const std::int32_t* order, T* target) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < rows) target[i + blockIdx.y * rows] = source[i + order[blockIdx.y] * rows];
}

/// Finds the largest multiplier in the rows of a front's L below its pivots.
template <class T>
__global__ void record_multipliers(FactorArrays<T> arrays, const std::int32_t* list) {
  const Front front = arrays.fronts[*list];
  const T* const panel = arrays.factor + front.panel;
  Real<T> largest = 0;
  const int warps = static_cast<int>(gridDim.x) * block_warps();
  for (int c = static_cast<int>(blockIdx.x) * block_warps() + warp_id(); c < front.pivots; c += warps) {
    for (int i = front.pivots + lane_id(); i < front.rows; i += warp_size) {
      largest = fmax(largest, cabs1(panel[i + std::int64_t{c} * front.rows]));
    }
  }
  record_multiplier(arrays, largest);
}

}  // namespace echelon::sparse_direct::gpu

// SPDX-License-Identifier: BSD-3-Clause
/// Magnitudes of the rows and columns of a dense matrix on a GPU.
#pragma once

#include "backend/backend.hpp"
#include "backend/cuda/cuda.cuh"
#include "support/scalar.hpp"

#include <echelon/annotate.hpp>
#include <echelon/device.hpp>
#include <echelon/matrix/dense.hpp>

#include <cstdint>

namespace echelon::magnitudes {

/// Computes results[j] = f(0, j) + ... + f(n-1, j) in the sense of V's combine, a block to a column.
template <class V, class F>
__global__ void __launch_bounds__(cuda_kernels::block_size)
    combine_columns(std::int64_t n, F f, double* results) {
  for (std::int64_t j = blockIdx.x; j < n; j += gridDim.x) {
    V value{};
    for (std::int64_t i = threadIdx.x; i < n; i += cuda_kernels::block_size) value = combine(value, f(i, j));
    value = cuda_kernels::combine_block(value);
    if (threadIdx.x == 0) results[j] = value.value;
    __syncthreads();  // combine_block's storage is free again
  }
}

template <class V, class F>
void for_columns(const Device& device, std::int64_t n, F f, double* results) {
  constexpr std::int64_t most_blocks = 65536;
  const CurrentDevice current(device.id());
  const auto blocks = static_cast<unsigned>(n < most_blocks ? n : most_blocks);
  combine_columns<V><<<blocks, cuda_kernels::block_size, 0, stream()>>>(n, f, results);
  check(cudaGetLastError());
}

/// |a_ij|, or zero below the diagonal.
template <class T>
struct LargestMatrixMagnitude {
  std::int64_t n;
  const T* a;
  bool upper_only;
  ECHELON_ANYWHERE Largest operator()(std::int64_t i, std::int64_t j) const {
    return {upper_only && i > j ? 0 : magnitude(a[i + j * n])};
  }
};

inline constexpr int columns_of_strip = 64;

/// Computes the largest magnitudes of the rows as bits, which have the order of the non-negative numbers.
/// Each block has a strip of columns; neighbouring threads take neighbouring rows, which are contiguous in
/// memory.
template <class T>
__global__ void __launch_bounds__(cuda_kernels::block_size)
    find_row_maxima(DenseView<const T> A, double* largest) {
  const std::int64_t i = std::int64_t{blockIdx.x} * cuda_kernels::block_size + threadIdx.x;
  if (i >= A.rows()) return;
  Largest row;
  const std::int64_t first = std::int64_t{blockIdx.y} * columns_of_strip;
  const std::int64_t last = min(first + columns_of_strip, A.columns());
#pragma unroll 8
  for (std::int64_t j = first; j < last; ++j) {
    row = combine(row, {magnitude(A.data()[i + j * A.leading()])});
  }
  atomicMax(reinterpret_cast<unsigned long long*>(largest + i),
            static_cast<unsigned long long>(__double_as_longlong(row.value)));
}

/// Computes largest[i] = max |a_ij| for a column-major A. Queued.
template <class T>
void row_maxima(Cuda& backend, DenseView<const T> A, double* largest) {
  backend.fill(A.rows(), 0.0, largest);
  if (A.rows() == 0 || A.columns() == 0) return;
  const CurrentDevice current(backend.device().id());
  constexpr std::int64_t rows = cuda_kernels::block_size;
  const dim3 grid(static_cast<unsigned>((A.rows() + rows - 1) / rows),
                  static_cast<unsigned>((A.columns() + columns_of_strip - 1) / columns_of_strip));
  find_row_maxima<T><<<grid, cuda_kernels::block_size, 0, stream()>>>(A, largest);
  check(cudaGetLastError());
}

}  // namespace echelon::magnitudes

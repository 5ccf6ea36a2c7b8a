// SPDX-License-Identifier: BSD-3-Clause
/// LU and Cholesky factors of the matrices of a batch, as the kernels of a block per matrix store them.
///
/// Rows stay in their places. The row with pivot k has step k: its elements left of column k are those of a
/// row of L, whose diagonal is 1 for LU, the others those of row k of U. A Cholesky factorisation has the
/// steps 0, 1, ..., and U = L^T in the upper triangle. The inverses of the diagonal blocks of L and U, with
/// rows in the order of steps, are stored apart.
#pragma once

#include "backend/cuda/warp.cuh"

#include <echelon/batched.hpp>

#include <climits>
#include <cstdint>

namespace echelon::batch_kernels {

inline constexpr int block_width = 16;  ///< columns of a panel and of a diagonal block
inline constexpr int block_area = block_width * block_width;
inline constexpr int max_block_threads = 256;
inline constexpr int max_rows_per_thread = 2;
inline constexpr int max_block_rows = max_block_threads * max_rows_per_thread;
inline constexpr int no_step = INT_MAX;  ///< step number of a row that has no pivot yet

template <class T>
struct BlockFactors {
  T* a;
  std::int64_t leading, stride, count;
  int n;
  std::int32_t* steps;  ///< step of each row, n for each matrix; null for a Cholesky factorisation
  T* inverses;          ///< for each matrix and diagonal block, of L and then of U, column-major
  BatchOutcome* outcomes;

  [[nodiscard]] __device__ int blocks() const { return (n + block_width - 1) / block_width; }
  [[nodiscard]] __device__ T* inverses_of(std::int64_t matrix, int block) const {
    return inverses + (matrix * blocks() + block) * 2 * block_area;
  }
};

/// Rows of a thread of a block that has a matrix: thread, thread + threads, ....
struct ThreadRows {
  int n;
  [[nodiscard]] __device__ int operator[](int r) const {
    return static_cast<int>(threadIdx.x) + r * static_cast<int>(blockDim.x);
  }
  [[nodiscard]] __device__ bool has(int r) const { return (*this)[r] < n; }
};

/// A block of `block_width` columns in shared memory: element (k, c) is at [k * block_width + c].
template <class T>
using SharedBlock = T[block_area];

}  // namespace echelon::batch_kernels

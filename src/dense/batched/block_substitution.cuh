// SPDX-License-Identifier: BSD-3-Clause
/// Solution with the factors of block_factorization.cuh, each matrix by one block.
///
/// A thread has the elements of one or two rows in some right-hand sides. Forward, the rows with pivots in a
/// block of columns are multiplied by the inverse of L's diagonal block, and L times that is subtracted from
/// the rows below; backward, the same with U. The columns of the next block are read before the barrier.
#pragma once

#include "dense/batched/block_factors.cuh"

#include <cmath>

namespace echelon::batch_kernels {

template <class T>
struct BlockSystem {
  BlockFactors<T> factors;
  T* b;  ///< right-hand sides, replaced by the solutions
  std::int64_t leading, stride, columns;
};

/// Substitution for `rhs` right-hand sides at once.
template <class T, int rows_per_thread, int rhs>
class BlockSubstitution {
  using Vectors = T[rows_per_thread][rhs];

 public:
  struct Shared {
    T raw[block_width][rhs];
    T x[max_block_threads * rows_per_thread][rhs];  ///< in the order of steps
  };

  __device__ BlockSubstitution(const BlockSystem<T>& system, Shared& shared)
      : system_(system), factors_(system.factors), shared_(shared), rows_{system.factors.n} {}

  __device__ void run(std::int64_t matrix) {
    matrix_ = matrix;
    a_ = factors_.a + matrix * factors_.stride;
    for (int r = 0; r < rows_per_thread; ++r) {
      step_[r] = rows_[r];
      if (factors_.steps == nullptr) continue;
      step_[r] = rows_.has(r) ? factors_.steps[matrix * factors_.n + rows_[r]] : no_step;
    }
    const bool regular = factors_.outcomes[matrix].status == Status::direct;
    for (std::int64_t first = 0; first < system_.columns; first += rhs) {
      if (regular) {
        solve_columns(first);
      } else {
        fill_with_nan(first);
      }
    }
  }

 private:
  [[nodiscard]] __device__ T* rhs_at(int row, std::int64_t column) const {
    return system_.b + matrix_ * system_.stride + column * system_.leading + row;
  }
  [[nodiscard]] __device__ int count(std::int64_t first) const {
    return static_cast<int>(min(std::int64_t{rhs}, system_.columns - first));
  }

  __device__ void fill_with_nan(std::int64_t first) const {
    for (int k = 0; k < count(first); ++k) {
      for (int r = 0; r < rows_per_thread; ++r) {
        if (rows_.has(r)) *rhs_at(rows_[r], first + k) = static_cast<T>(NAN);
      }
    }
  }

  __device__ void solve_columns(std::int64_t first) {
    Vectors v;
    const int columns = count(first);
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
#pragma unroll
      for (int k = 0; k < rhs; ++k) {
        v[r][k] = rows_.has(r) && k < columns ? *rhs_at(rows_[r], first + k) : T{0};
      }
    }
    substitute(v);
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
#pragma unroll
      for (int k = 0; k < rhs; ++k) {
        if (rows_.has(r) && k < columns) *rhs_at(rows_[r], first + k) = v[r][k];
      }
    }
  }

  /// Computes v = A^-1 v. A barrier is at the end.
  __device__ void substitute(Vectors& v) {
    for (int q = 0; q < factors_.n; q += block_width) {
      eliminate_block(q, 0, v, [&](int step) { return step >= q + block_width; });
    }
    const int last = (factors_.n - 1) / block_width * block_width;
    for (int q = last; q >= 0; q -= block_width) {
      eliminate_block(q, 1, v, [&](int step) { return step < q; });
    }
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
#pragma unroll
      for (int k = 0; k < rhs; ++k) v[r][k] = rows_.has(r) ? shared_.x[rows_[r]][k] : T{0};
    }
    __syncthreads();
  }

  /// Computes x, the inverse of a diagonal block times the rows of v with steps in it, which become x, and
  /// subtracts (L or U) x from v in the rows that `needs` selects. `factor`: 0 for L, 1 for U.
  template <class Needs>
  __device__ void eliminate_block(int q, int factor, Vectors& v, Needs needs) {
    T l[rows_per_thread][block_width];
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
      const bool needed = rows_.has(r) && needs(step_[r]);
#pragma unroll
      for (int c = 0; c < block_width; ++c) {
        l[r][c] = needed && q + c < factors_.n ? a_[rows_[r] + (q + c) * factors_.leading] : T{0};
      }
      if (!rows_.has(r) || step_[r] < q || step_[r] >= q + block_width) continue;
#pragma unroll
      for (int k = 0; k < rhs; ++k) shared_.raw[step_[r] - q][k] = v[r][k];
    }
    const T* const inverse = factors_.inverses_of(matrix_, q / block_width) + factor * block_area;
    const int rows = min(block_width, factors_.n - q);
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x); e < rows * rhs; e += static_cast<int>(blockDim.x)) {
      const int row = e / rhs;
      T sum = 0;
#pragma unroll
      for (int c = 0; c < block_width; ++c) {
        if (c < rows) sum += inverse[row + c * block_width] * shared_.raw[c][e % rhs];
      }
      shared_.x[q + row][e % rhs] = sum;
    }
    __syncthreads();
#pragma unroll
    for (int c = 0; c < block_width; ++c) {
      if (c >= rows) continue;
#pragma unroll
      for (int k = 0; k < rhs; ++k) {
        const T x = shared_.x[q + c][k];
#pragma unroll
        for (int r = 0; r < rows_per_thread; ++r) v[r][k] -= l[r][c] * x;
      }
    }
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
      if (!rows_.has(r) || step_[r] < q || step_[r] >= q + block_width) continue;
#pragma unroll
      for (int k = 0; k < rhs; ++k) v[r][k] = shared_.x[step_[r]][k];
    }
  }

  const BlockSystem<T>& system_;
  const BlockFactors<T>& factors_;
  Shared& shared_;
  ThreadRows rows_;
  std::int64_t matrix_ = 0;
  const T* a_ = nullptr;
  int step_[rows_per_thread];
};

template <class T, int rows_per_thread, int rhs>
__global__ void __launch_bounds__(max_block_threads) substitute_batch(const BlockSystem<T> system) {
  using Kernel = BlockSubstitution<T, rows_per_thread, rhs>;
  __shared__ typename Kernel::Shared shared;
  for (std::int64_t matrix = blockIdx.x; matrix < system.factors.count; matrix += gridDim.x) {
    Kernel(system, shared).run(matrix);
  }
}

}  // namespace echelon::batch_kernels

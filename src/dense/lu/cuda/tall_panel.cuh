// SPDX-License-Identifier: BSD-3-Clause
/// Columns that are too tall for a cluster of thread blocks, eliminated one by one.
#pragma once

#include "dense/lu/workspace.cuh"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace echelon::lu {

namespace tall_panel {

using cuda_kernels::block_size;

/// Exchanges the origins of row k and of the row that the pivot came from.
__device__ inline void exchange_origins(const RowOrigins& rows, std::int64_t k, std::int64_t pivot) {
  if (rows.origins == nullptr) return;
  const int upper = rows.origins[k];
  rows.origins[k] = rows.origins[pivot];
  rows.origins[pivot] = upper;
}

/// Subtracts column c - 1 from the columns to its right, finds the pivot of column c and exchanges its row in
/// all columns of the leaf. c = 0: no subtraction. The last block to finish determines the pivot.
template <class T>
__global__ void __launch_bounds__(block_size)
    eliminate_column(const LuLeafJob<T> job, int c, TallPivot* partial, unsigned* finished) {
  const std::int64_t stride = std::int64_t{gridDim.x} * block_size;
  const T* pivot_row = job.a + max(c - 1, 0);
  const T pivot = c > 0 ? pivot_row[(c - 1) * job.leading] : T{0};
  TallPivot best;
  for (std::int64_t i = c + std::int64_t{blockIdx.x} * block_size + threadIdx.x; i < job.rows; i += stride) {
    T* const row = job.a + i;
    if (c > 0) {
      const T x = row[(c - 1) * job.leading];
      const T l = x == 0 ? T{0} : x / pivot;
      row[(c - 1) * job.leading] = l;
#pragma unroll 4
      for (int j = c; j < job.width; ++j) row[j * job.leading] -= l * pivot_row[j * job.leading];
    }
    if (c < job.width) {
      best = combine(best, {fabs(static_cast<double>(row[c * job.leading])), i});
    }
  }
  if (c == job.width) return;
  __threadfence();
  __shared__ std::int64_t chosen;
  if (threadIdx.x == 0) chosen = -1;
  __syncthreads();
  if (cuda_kernels::combine_blocks(best, blockIdx.x, gridDim.x, partial, finished)) {
    chosen = best.row;
    job.pivots[c] = job.begin + best.row;
    exchange_origins(job.of_leaf, c, best.row);
    exchange_origins(job.of_panel, c, best.row);
    exchange_origins(job.of_matrix, c, best.row);
  }
  __syncthreads();
  if (chosen < 0 || chosen == c) return;
  for (int j = static_cast<int>(threadIdx.x); j < job.width; j += block_size) {
    T* const column = job.a + j * job.leading;
    const T upper = __ldcg(column + c);
    column[c] = __ldcg(column + chosen);
    column[chosen] = upper;
  }
}

/// Initialises the origins: row i was row i, unless the exchanges are composed with earlier ones.
__global__ void __launch_bounds__(block_size)
    reset_origins(int rows, RowOrigins leaf, RowOrigins panel, RowOrigins matrix) {
  const int i = static_cast<int>(blockIdx.x) * block_size + static_cast<int>(threadIdx.x);
  if (i >= rows) return;
  for (const RowOrigins& each : {leaf, panel, matrix}) {
    if (each.origins != nullptr && !each.composed) each.origins[i] = i;
  }
}

}  // namespace tall_panel

/// Queues the factorisation of a leaf of any height on `stream`: a kernel for each column.
template <class T>
void factor_tall_leaf(FactorWorkspace<Cuda, T>& workspace, const LuLeafJob<T>& job, cudaStream_t stream) {
  constexpr unsigned threads = tall_panel::block_size;
  const unsigned all = (static_cast<unsigned>(job.rows) + threads - 1) / threads;
  const unsigned blocks = std::min<unsigned>(all, FactorWorkspace<Cuda, T>::max_tall_blocks);
  tall_panel::reset_origins<<<all, threads, 0, stream>>>(job.rows, job.of_leaf, job.of_panel, job.of_matrix);
  check(cudaGetLastError());
  for (int c = 0; c <= job.width; ++c) {
    tall_panel::eliminate_column<T>
        <<<blocks, threads, 0, stream>>>(job, c, workspace.tall_pivots.data(), workspace.counters.data());
    check(cudaGetLastError());
  }
}

}  // namespace echelon::lu

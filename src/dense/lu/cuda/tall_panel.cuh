// SPDX-License-Identifier: BSD-3-Clause
/// Leaves that are too tall for a cluster of thread blocks, in the shared memory of as many multiprocessors
/// as they need.
///
/// Each block holds an equal share of the rows, of all columns. For each column the blocks write their best
/// candidates for the pivot, with their rows, to global memory and wait for each other; each then finds the
/// pivot among the candidates. Concurrent multiplications delay only the start of the leaf: a kernel for each
/// column would wait for a part of them to end at each column.
#pragma once

#include "backend/cuda/grid.cuh"
#include "dense/lu/workspace.cuh"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace echelon::lu {

namespace tall_leaf {

using cuda_kernels::block_size;

/// Shared memory of a block, excluding its rows.
template <class T>
struct PivotMemory {
  T row[max_tall_width];  ///< of the last pivot
  int chosen[max_tall_width];
  TallPivot candidate;
};

/// Exchanges the origins of row k and of the row that the pivot came from.
__device__ inline void exchange_origins(const RowOrigins& rows, int k, int pivot) {
  if (rows.origins == nullptr) return;
  const int upper = rows.origins[k];
  rows.origins[k] = rows.origins[pivot];
  rows.origins[pivot] = upper;
}

/// Elimination of the rows [blockIdx.x * height, ...) of a leaf, which `rows` receives by columns. Row c <
/// width is always in block 0, since height >= max_tall_width.
template <class T>
class TallLeaf {
 public:
  __device__ TallLeaf(const LuLeafJob<T>& job, const TallMessages<T>& messages, int height,
                      PivotMemory<T>& pivot, T* rows)
      : job_(job),
        messages_(messages),
        barrier_(messages.arrivals),
        pivot_(pivot),
        rows_(rows),
        height_(height),
        first_(static_cast<int>(blockIdx.x) * height),
        count_(min(height, job.rows - first_)) {}

  __device__ void run() {
    for (int j = 0; j < job_.width; ++j) {
      for (int i = thread(); i < count_; i += block_size) at(i, j) = job_.a[first_ + i + j * job_.leading];
    }
    __syncthreads();
    for (int c = 0; c < job_.width; ++c) {
      publish(c, eliminate(c));
      barrier_.wait();
      exchange(c, find_pivot(c));
    }
    eliminate(job_.width);
    __syncthreads();
    for (int j = 0; j < job_.width; ++j) {
      for (int i = thread(); i < count_; i += block_size) job_.a[first_ + i + j * job_.leading] = at(i, j);
    }
    if (blockIdx.x == 0) record();
  }

 private:
  static __device__ int thread() { return static_cast<int>(threadIdx.x); }
  __device__ T& at(int i, int j) { return rows_[j * height_ + i]; }

  /// Subtracts column c - 1 from the columns to its right, and returns this thread's best pivot of column c.
  __device__ TallPivot eliminate(int c) {
    TallPivot best;
    for (int i = max(c - first_, 0) + thread(); i < count_; i += block_size) {
      if (c > 0) {
        const T x = at(i, c - 1);
        const T l = x == 0 ? T{0} : x / pivot_.row[c - 1];
        at(i, c - 1) = l;
#pragma unroll 4
        for (int j = c; j < job_.width; ++j) at(i, j) -= l * pivot_.row[j];
      }
      if (c < job_.width) best = combine(best, {fabs(static_cast<double>(at(i, c))), first_ + i});
    }
    return best;
  }

  /// Publishes the best candidate of this block with its row, and row c. The places in memory alternate, so
  /// that one barrier for each column is enough.
  __device__ void publish(int c, TallPivot best) {
    best = cuda_kernels::combine_block(best);
    if (thread() == 0) pivot_.candidate = messages_.pivots[c % 2 * gridDim.x + blockIdx.x] = best;
    __syncthreads();
    const auto row = static_cast<int>(pivot_.candidate.row - first_);
    for (int j = thread(); j < job_.width; j += block_size) {
      row_of_block(c, blockIdx.x)[j] = at(row, j);
      if (blockIdx.x == 0) upper_row(c)[j] = at(c, j);
    }
  }

  /// Returns the row of the pivot of column c, to all threads.
  __device__ int find_pivot(int c) {
    TallPivot best;
    for (unsigned b = threadIdx.x; b < gridDim.x; b += block_size) {
      best = combine(best, messages_.pivots[c % 2 * gridDim.x + b]);
    }
    best = cuda_kernels::combine_block(best);
    if (thread() == 0) pivot_.chosen[c] = static_cast<int>(best.row);
    __syncthreads();
    return pivot_.chosen[c];
  }

  /// Reads the row of the pivot, and exchanges it with row c.
  __device__ void exchange(int c, int pivot) {
    const auto owner = static_cast<unsigned>(pivot / height_);
    for (int j = thread(); j < job_.width; j += block_size) {
      const T element = row_of_block(c, owner)[j];
      pivot_.row[j] = element;
      if (blockIdx.x == owner) at(pivot - first_, j) = upper_row(c)[j];
      if (blockIdx.x == 0) at(c, j) = element;
    }
    __syncthreads();
  }

  __device__ void record() {
    if (thread() < job_.width) job_.pivots[thread()] = job_.begin + pivot_.chosen[thread()];
    const RowOrigins* const origins[] = {&job_.of_leaf, &job_.of_panel, &job_.of_matrix};
    const int warp = thread() / warp_size;
    if (thread() % warp_size != 0 || warp >= 3) return;
    for (int c = 0; c < job_.width; ++c) exchange_origins(*origins[warp], c, pivot_.chosen[c]);
  }

  __device__ T* row_of_block(int c, unsigned block) {
    return messages_.rows + (c % 2 * (gridDim.x + 1) + block) * max_tall_width;
  }
  __device__ T* upper_row(int c) {
    return row_of_block(c, gridDim.x);
  }

  const LuLeafJob<T>& job_;
  const TallMessages<T>& messages_;
  GridBarrier barrier_;
  PivotMemory<T>& pivot_;
  T* rows_;
  int height_, first_, count_;
};

template <class T>
__global__ void __launch_bounds__(block_size)
    eliminate(const LuLeafJob<T> job, const TallMessages<T> messages, int height) {
  extern __shared__ __align__(16) unsigned char tall_leaf_rows[];
  __shared__ PivotMemory<T> pivot;
  TallLeaf<T>(job, messages, height, pivot, reinterpret_cast<T*>(tall_leaf_rows)).run();
}

/// Initialises the origins: row i was row i, unless the exchanges are composed with earlier ones. Resets the
/// counter of the grid barrier.
__global__ void __launch_bounds__(block_size)
    reset(int rows, RowOrigins leaf, RowOrigins panel, RowOrigins matrix, unsigned* arrivals) {
  const int i = static_cast<int>(blockIdx.x) * block_size + static_cast<int>(threadIdx.x);
  if (i == 0) *arrivals = 0;
  if (i >= rows) return;
  for (const RowOrigins& each : {leaf, panel, matrix}) {
    if (each.origins != nullptr && !each.composed) each.origins[i] = i;
  }
}

/// Division of a leaf among thread blocks.
struct Division {
  int width;   ///< columns
  int height;  ///< rows of a block
  unsigned blocks;
};

/// Division with the most columns, at most `max_width`, for which the multiprocessors hold `rows` rows.
template <class T>
Division divide(const Device& device, std::int64_t rows, int max_width) {
  cudaFuncAttributes kernel = {};
  check(cudaFuncGetAttributes(&kernel, eliminate<T>));
  int shared_bytes = 0;
  check(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device.id()));
  shared_bytes -= static_cast<int>(kernel.sharedSizeBytes);
  check(cudaFuncSetAttribute(eliminate<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  const std::int64_t max_blocks = multiprocessors(device);
  const auto blocks_of = [rows](std::int64_t height) { return (rows + height - 1) / height; };
  const auto rounded_up = [](std::int64_t height) {
    return (height + warp_size - 1) / warp_size * warp_size;
  };
  int width = max_width;
  const auto most_rows = [&] {
    return shared_bytes / (width * static_cast<std::int64_t>(sizeof(T))) / warp_size * warp_size;
  };
  while (width > 1 && blocks_of(most_rows()) > max_blocks) width /= 2;
  const std::int64_t height = rounded_up(blocks_of(blocks_of(most_rows())));
  return {width, static_cast<int>(height), static_cast<unsigned>(blocks_of(height))};
}

}  // namespace tall_leaf

/// Columns of a leaf of `rows` rows that is too tall for a cluster.
template <class T>
int tall_leaf_width(const Device& device, std::int64_t rows) {
  return tall_leaf::divide<T>(device, rows, max_tall_width).width;
}

/// Queues the factorisation of a leaf of any height, of at most tall_leaf_width columns, on `stream`.
template <class T>
void factor_tall_leaf(const Device& device, FactorWorkspace<Cuda, T>& workspace, const LuLeafJob<T>& job,
                      cudaStream_t stream) {
  constexpr unsigned threads = tall_leaf::block_size;
  const unsigned all = (static_cast<unsigned>(job.rows) + threads - 1) / threads;
  const TallMessages<T> messages{workspace.tall_pivots.data(), workspace.tall_rows.data(),
                                 workspace.counters.data()};
  tall_leaf::reset<<<all, threads, 0, stream>>>(job.rows, job.of_leaf, job.of_panel, job.of_matrix,
                                                messages.arrivals);
  check(cudaGetLastError());
  const tall_leaf::Division division = tall_leaf::divide<T>(device, job.rows, job.width);
  const std::size_t shared_bytes = sizeof(T) * static_cast<std::size_t>(division.height * job.width);
  launch_grid(tall_leaf::eliminate<T>, {division.blocks, threads, shared_bytes, stream}, job, messages,
              division.height);
}

}  // namespace echelon::lu

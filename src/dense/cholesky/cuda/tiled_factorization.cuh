// SPDX-License-Identifier: BSD-3-Clause
/// Cholesky factorisation of a dense matrix by one kernel, tile by tile.
///
/// Each tile of L is the task of a block: A_ij - sum_k L_ik L_jk^T over the tiles to the left, then times
/// L_jj^-T, or on the diagonal its factorisation. The tile left of a diagonal one belongs to the same task,
/// which has it in shared memory when it needs it: with the diagonal tile before, it makes up the chain of
/// tasks that must follow each other.
///
/// A job may end after a part of the columns: the rows below are then ready for their product to be
/// subtracted from the rest of the matrix, which is the beginning of another job.
///
/// Blocks draw the tasks column by column, so that a task waits only for tasks that blocks are already
/// working on: however few blocks are resident, the kernel ends. A counter of each row of tiles says how many
/// of its tiles are complete.
#pragma once

#include "dense/tiles/asynchronous.cuh"
#include "dense/tiles/cholesky.cuh"
#include "dense/tiles/product.cuh"

#include <echelon/annotate.hpp>

#include <cstdint>

namespace echelon::cholesky_kernels {

using tiles::padded;
using tiles::panel_width;
using tiles::side;
using tiles::warp_id;

/// State of a factorisation in the device's memory, zero at the beginning.
template <class T>
struct TiledState {
  int failed_pivot;  ///< the first that is not positive, from 1; 0: none
  int abandoned;     ///< a task waited longer than any can take
  T failed_value;
};

/// A matrix whose order is a multiple of `side`, column-major, with `leading` a multiple of 16 bytes.
template <class T>
struct TiledJob {
  T* a;
  std::int64_t leading;
  int rows;        ///< in tiles
  int columns;     ///< in tiles, at most `rows`
  int first;       ///< tiles on the diagonal of the whole matrix before this one
  T* inverses;     ///< of the diagonal tiles of L, `side` by `side` each
  int* next_task;  ///< zero at the beginning
  int* complete;   ///< tiles of each row that are complete: zero at the beginning
  TiledState<T>* state;
};

/// Number of tasks of a column with `below` tiles below its diagonal tile: one for the diagonal tile and the
/// tile to its left, and one for each tile below. The first tile below belongs to the task of the next
/// column's diagonal tile, if the job has that column.
ECHELON_ANYWHERE inline int tasks_of_column(int below, bool last) {
  return last || below == 0 ? 1 + below : below;
}

/// Number of tasks of the first `columns` columns, in a matrix of `rows` rows of tiles.
inline std::int64_t count_tasks(int rows, int columns) {
  std::int64_t tasks = 0;
  for (int j = 0; j < columns; ++j) tasks += tasks_of_column(rows - j - 1, j + 1 == columns);
  return tasks;
}

/// `Product` has the interface of tiles::WarpProduct, for the sums over the tiles to the left.
template <class T, class Product = tiles::WarpProduct<T>>
class TileTask {
 public:
  struct Shared {
    alignas(16) T tiles[2][side * padded];
    T least_pivots[side];
    T reciprocals[side];
    int task;
    int available;
  };

  __device__ TileTask(const TiledJob<T>& job, Shared& shared) : job_(job), shared_(shared) {}

  __device__ void run() {
    if (threadIdx.x < side) shared_.least_pivots[threadIdx.x] = tiles::least_normal<T>;
    int column = 0;
    int first_of_column = 0;
    for (;;) {
      const int task = next_task();
      while (column < job_.columns && task >= first_of_column + tasks_of(column)) {
        first_of_column += tasks_of(column);
        ++column;
      }
      if (column == job_.columns) return;
      if (task == first_of_column) {
        complete_diagonal(column);
      } else {
        // The tile next to the diagonal belongs to the next column's task, but in the last column.
        const int skipped = column + 1 < job_.columns ? 1 : 0;
        complete_below(column + skipped + task - first_of_column, column);
      }
    }
  }

 private:
  [[nodiscard]] __device__ T* tile_at(int i, int j) const {
    return job_.a + std::int64_t{i} * side + std::int64_t{j} * side * job_.leading;
  }
  [[nodiscard]] __device__ int tasks_of(int column) const {
    return tasks_of_column(job_.rows - column - 1, column + 1 == job_.columns);
  }
  __device__ int next_task() {
    __syncthreads();
    if (threadIdx.x == 0) shared_.task = atomicAdd(job_.next_task, 1);
    __syncthreads();
    return shared_.task;
  }

  __device__ void complete_below(int i, int j) {
    Product sum;
    sum.clear();
    for_available(i, j, j, [&](int first, int end) {
      for_each_chunk(i, j, first, end, [&](const T* left, const T* right) {
        tiles::add_product(sum, left, right, tiles::chunk);
      });
    });
    tiles::store_difference(tile_at(i, j), job_.leading, sum, shared_.tiles[0]);
    solve_with_diagonal(j);
    store_tile(shared_.tiles[0], tile_at(i, j));
    __syncthreads();
    if (threadIdx.x == 0) publish(i, j + 1);
  }

  /// The diagonal tile j and the one left of it. The sums of both are formed together.
  __device__ void complete_diagonal(int j) {
    Product sum;
    sum.clear();
    if (j > 0) {
      Product left_sum;
      left_sum.clear();
      for_available(j, j - 1, j - 1, [&](int first, int end) {
        for_each_chunk(j, j - 1, first, end, [&](const T* left, const T* right) {
          tiles::add_product(left_sum, left, right, tiles::chunk);
          tiles::add_product(sum, left, left, tiles::chunk);
        });
      });
      tiles::store_difference(tile_at(j, j - 1), job_.leading, left_sum, shared_.tiles[0]);
      solve_with_diagonal(j - 1);
      store_tile(shared_.tiles[0], tile_at(j, j - 1));
      tiles::add_product(sum, shared_.tiles[0], shared_.tiles[0], side);
    }
    tiles::store_difference(tile_at(j, j), job_.leading, sum, shared_.tiles[1]);
    // The publishing thread belongs to a warp that has no part in the first panel.
    if (j > 0 && static_cast<int>(threadIdx.x) == tiles::threads - 1) publish(j, j);
    factor_diagonal(j);
  }

  /// Calls add(first, end) for parts of the first `count` tiles of rows i and j, as they are completed.
  template <class Add>
  __device__ void for_available(int i, int j, int count, Add add) {
    for (int k = 0; k < count;) {
      const int end = wait_for_tiles(i, j, k + 1, count);
      add(k, end);
      k = end;
    }
  }
  /// Calls add(left, right) for chunks of the tiles k in [first, end) of rows i and j.
  template <class Add>
  __device__ void for_each_chunk(int i, int j, int first, int end, Add add) {
    const T* const a = tile_at(i, first);
    const T* const b = tile_at(j, first);
    tiles::for_each_chunk((end - first) * tiles::stages, shared_.tiles[0], shared_.tiles[1],
                          [&](int c, T* left, T* right) {
                            const std::int64_t offset = std::int64_t{c} * tiles::chunk * job_.leading;
                            copy_columns(a + offset, tiles::chunk, left);
                            copy_columns(b + offset, tiles::chunk, right);
                          },
                          add);
  }

  /// Waits until `least` tiles of rows i and j are complete; returns how many of the first `most` are.
  __device__ int wait_for_tiles(int i, int j, int least, int most) {
    if (threadIdx.x == 0) {
      int ready = 0;
      for (long spins = 0;; ++spins) {
        ready = tiles::load_acquire(job_.complete + i);
        if (i != j && ready >= least) ready = min(ready, tiles::load_acquire(job_.complete + j));
        if (ready >= least || given_up(spins)) break;
      }
      shared_.available = max(least, min(ready, most));
    }
    __syncthreads();
    const int available = shared_.available;
    __syncthreads();
    return available;
  }
  /// True if a wait has lasted for seconds in any block: a defect, which the host reports.
  __device__ bool given_up(long spins) {
    constexpr long limit = 10'000'000;
    if (spins >= limit) atomicExch(&job_.state->abandoned, 1);
    return spins % 1024 == 1023 && *static_cast<volatile int*>(&job_.state->abandoned) != 0;
  }
  /// Makes what the block wrote before its last barrier visible as the first `count` tiles of row i; called
  /// by one thread.
  __device__ void publish(int i, int count) const {
    __threadfence();
    tiles::store_release(job_.complete + i, count);
  }

  /// Copies `columns` columns of a tile to shared memory.
  __device__ void copy_columns(const T* from, int columns, T* to) const {
    constexpr int per_piece = 16 / static_cast<int>(sizeof(T));
    constexpr int pieces = side / per_piece;  // of a column
    for (int p = static_cast<int>(threadIdx.x); p < pieces * columns; p += tiles::threads) {
      const int row = p % pieces * per_piece;
      const int column = p / pieces;
      tiles::copy_async(to + column * padded + row, from + column * job_.leading + row);
    }
  }

  /// Computes tiles[0] = tiles[0] L_jj^-T. A barrier is at the end.
  __device__ void solve_with_diagonal(int j) {
    wait_for_tiles(j, j, j + 1, j + 1);
    copy_diagonal(j);
    tiles::commit_copies();
    tiles::wait_for_copies<0>();
    __syncthreads();
    tiles::solve_rows(shared_.tiles[0], shared_.tiles[1]);
    __syncthreads();
  }
  /// Copies tiles[1] = L_jj below the diagonal blocks, and their inverses.
  __device__ void copy_diagonal(int j) {
    constexpr int per_piece = 16 / static_cast<int>(sizeof(T));
    constexpr int pieces = side / per_piece;  // of a column
    const T* const l = tile_at(j, j);
    const T* const inverse = inverse_at(j);
    for (int p = static_cast<int>(threadIdx.x); p < pieces * side; p += tiles::threads) {
      const int row = p % pieces * per_piece;
      const int column = p / pieces;
      const int below = row / panel_width - column / panel_width;
      if (below < 0) continue;
      tiles::copy_async(shared_.tiles[1] + column * padded + row,
                        below == 0 ? inverse + column * side + row : l + column * job_.leading + row);
    }
  }
  [[nodiscard]] __device__ T* inverse_at(int j) const {
    return job_.inverses + std::int64_t{j} * side * side;
  }

  __device__ void store_tile(const T* tile, T* to) const {
    struct alignas(16) Piece {
      T elements[16 / sizeof(T)];
    };
    constexpr int per_piece = 16 / static_cast<int>(sizeof(T));
    constexpr int pieces = side / per_piece;  // of a column
#pragma unroll 4
    for (int p = static_cast<int>(threadIdx.x); p < pieces * side; p += tiles::threads) {
      const int row = p % pieces * per_piece;
      const int column = p / pieces;
      *reinterpret_cast<Piece*>(to + column * job_.leading + row) =
          *reinterpret_cast<const Piece*>(tile + column * padded + row);
    }
  }

  /// Factors tiles[1], and stores the factor with the inverse.
  __device__ void factor_diagonal(int j) {
    tiles::CholeskyTile<T> tile(shared_.tiles[1], shared_.tiles[0], shared_.least_pivots,
                                shared_.reciprocals);
    const tiles::SmallPivot<T> failed = tile.factor([&](int first) { store_panel(j, first); });
    if (threadIdx.x == 0 && failed.column >= 0 && job_.state->failed_pivot == 0) {
      job_.state->failed_value = failed.value;
      job_.state->failed_pivot = (job_.first + j) * side + failed.column + 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) publish(j, j + 1);
    tile.invert();
    for (int k = static_cast<int>(threadIdx.x); k < side * side; k += tiles::threads) {
      const int row = k % side;
      const int column = k / side;
      if (row / panel_width == column / panel_width) continue;  // others may be reading it
      inverse_at(j)[k] = shared_.tiles[0][row + column * padded];
    }
  }
  /// Stores columns [first, first + panel_width) of the factor and the inverse of its diagonal block, by the
  /// last two warps.
  __device__ void store_panel(int j, int first) const {
    constexpr int threads = 2 * warp_size;
    T* const a = tile_at(j, j);
    for (int k = static_cast<int>(threadIdx.x) % threads; k < side * panel_width; k += threads) {
      const int row = k % side;
      const int column = first + k / side;
      if (row >= column) a[row + column * job_.leading] = shared_.tiles[1][row + column * padded];
      if (row / panel_width == first / panel_width) {
        inverse_at(j)[row + column * side] = shared_.tiles[0][row + column * padded];
      }
    }
  }

  const TiledJob<T>& job_;
  Shared& shared_;
};

template <class T, class Product>
__global__ void __launch_bounds__(tiles::threads, 3) factor_tiles(const TiledJob<T> job) {
  extern __shared__ double2 tile_shared[];
  using Task = TileTask<T, Product>;
  Task(job, *reinterpret_cast<typename Task::Shared*>(tile_shared)).run();
}

}  // namespace echelon::cholesky_kernels

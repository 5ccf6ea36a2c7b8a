// SPDX-License-Identifier: BSD-3-Clause
/// Cholesky factorisation of the matrices of a batch, each by one block, tile by tile in shared memory, with
/// the products on the tensor cores in double. The factors are those of block_factors.cuh.
///
/// Columns of tiles from left to right; each tile A_ij - sum_k L_ik L_jk^T is multiplied by L_jj^-T, or
/// factored on the diagonal. The lower triangle is read only. Beyond the matrix, the last tile continues with
/// the identity.
#pragma once

#include "dense/batched/block_factors.cuh"
#include "dense/tiles/cholesky.cuh"
#include "dense/tiles/product.cuh"

#include <cmath>
#include <limits>

namespace echelon::batch_kernels {

using tiles::padded;
using tiles::panel_width;
using tiles::side;

template <class T>
inline constexpr T next_after_one = 1 + std::numeric_limits<T>::epsilon();

template <class T>
class BatchedTileCholesky {
  static_assert(panel_width == block_width);

 public:
  struct Shared {
    alignas(16) T tiles[2][side * padded];
    T diagonal[side];  ///< of the current diagonal tile of A
    T least_pivots[side];
    T reciprocals[side];
    BatchOutcome outcome;
  };

  __device__ BatchedTileCholesky(const BlockFactors<T>& factors, double tolerance, Shared& shared)
      : factors_(factors), shared_(shared), tolerance_(tolerance) {}

  /// Factors matrix number `matrix`.
  __device__ void run(std::int64_t matrix) {
    matrix_ = matrix;
    a_ = factors_.a + matrix * factors_.stride;
    if (threadIdx.x == 0) shared_.outcome = BatchOutcome{};
    const int rows = (factors_.n + side - 1) / side;
    for (int j = 0; j < rows; ++j) {
      factor_diagonal(j);
      if (shared_.outcome.status != Status::direct) break;
      for (int i = j + 1; i < rows; ++i) solve_below(i, j);
    }
    if (threadIdx.x == 0) factors_.outcomes[matrix] = shared_.outcome;
    __syncthreads();
  }

 private:
  [[nodiscard]] __device__ T* at(int row, int column) const { return a_ + row + column * factors_.leading; }
  [[nodiscard]] __device__ bool exists(int row, int column) const {
    return row < factors_.n && column < factors_.n;
  }

  __device__ void factor_diagonal(int j) {
    set_least_pivots(j);
    form_tile(j, j, shared_.tiles[1]);
    const int rows = min(side, factors_.n - j * side);
    tiles::CholeskyTile<T> tile(shared_.tiles[1], shared_.tiles[0], shared_.least_pivots, shared_.reciprocals,
                                rows);
    const tiles::SmallPivot<T> failed = tile.factor([](int) {});
    if (threadIdx.x == 0 && failed.column >= 0) shared_.outcome = assess(failed, j);
    store(j, j, shared_.tiles[1]);
    store_inverses(j);
    __syncthreads();
  }
  __device__ void set_least_pivots(int j) {
    const auto k = static_cast<int>(threadIdx.x);
    if (k >= side) return;
    const int row = j * side + k;
    const T element = row < factors_.n ? *at(row, row) : T{1};
    shared_.diagonal[k] = element;
    const T rounding = static_cast<T>(tolerance_) * std::abs(element);
    // A pivot must exceed `rounding`, hence the next larger number.
    shared_.least_pivots[k] = fmax(rounding * next_after_one<T>, tiles::least_normal<T>);
  }
  [[nodiscard]] __device__ BatchOutcome assess(const tiles::SmallPivot<T>& failed, int j) const {
    const int column = j * side + failed.column;
    if (!std::isfinite(failed.value)) return {Status::not_a_number, column};
    const T rounding = static_cast<T>(tolerance_) * std::abs(shared_.diagonal[failed.column]);
    return {failed.value >= -rounding ? Status::singular : Status::not_spd, column};
  }

  __device__ void solve_below(int i, int j) {
    form_tile(i, j, shared_.tiles[0]);
    copy_diagonal(j);
    tiles::commit_copies();
    tiles::wait_for_copies<0>();
    __syncthreads();
    tiles::solve_rows(shared_.tiles[0], shared_.tiles[1]);
    __syncthreads();
    store(i, j, shared_.tiles[0]);
    __syncthreads();
  }

  /// `tile` = A_ij - the sum of L_ik L_jk^T over the tiles left of column j. A barrier is at the end.
  __device__ void form_tile(int i, int j, T* tile) {
    tiles::WarpProduct<T> sum;
    sum.clear();
    tiles::for_each_chunk(
        j * tiles::stages, shared_.tiles[0], shared_.tiles[1],
        [&](int c, T* left, T* right) {
          copy_rows(i, c * tiles::chunk, left);
          if (i != j) copy_rows(j, c * tiles::chunk, right);
        },
        [&](const T* left, const T* right) {
          tiles::add_product(sum, left, i == j ? left : right, tiles::chunk);
        });
    const int first_row = i * side + tiles::warp_row();
    const int first_column = j * side + tiles::warp_column();
    T* const part = tile + tiles::warp_row() + tiles::warp_column() * padded;
    sum.for_each([&](int r, int c, T value) {
      const int row = first_row + r;
      const int column = first_column + c;
      const T beyond = row == column ? T{1} : T{0};
      part[r + c * padded] = exists(row, column) && row >= column ? *at(row, column) - value : beyond;
    });
    __syncthreads();
  }
  /// Copies a chunk of columns of a row of tiles.
  __device__ void copy_rows(int i, int first_column, T* to) const {
    for (int e = static_cast<int>(threadIdx.x); e < side * tiles::chunk; e += tiles::threads) {
      const int row = i * side + e % side;
      const int column = e / side;
      const bool there = row < factors_.n;
      tiles::copy_element_async(to + column * padded + e % side, at(there ? row : 0, first_column + column),
                                there);
    }
  }
  /// Copies tiles[1] = L_jj below the diagonal blocks, and their inverses.
  __device__ void copy_diagonal(int j) {
    for (int e = static_cast<int>(threadIdx.x); e < side * side; e += tiles::threads) {
      const int row = e % side;
      const int column = e / side;
      const int below = row / panel_width - column / panel_width;
      if (below < 0) continue;
      const int block = j * (side / panel_width) + row / panel_width;
      const T* const inverse = factors_.inverses_of(matrix_, min(block, factors_.blocks() - 1));
      const bool there = exists(j * side + row, j * side + column);
      const T* const l = at(there ? j * side + row : 0, there ? j * side + column : 0);
      T* const to = shared_.tiles[1] + column * padded + row;
      if (below == 0) {
        const T* const from = inverse + column % panel_width * panel_width + row % panel_width;
        tiles::copy_element_async(to, from, block < factors_.blocks());
      } else {
        tiles::copy_element_async(to, l, there);
      }
    }
  }

  /// Stores the lower triangle of a tile and its mirror image.
  __device__ void store(int i, int j, const T* tile) const {
    for (int e = static_cast<int>(threadIdx.x); e < side * side; e += tiles::threads) {
      const int fast = e % side;
      const int slow = e / side;
      if (exists(i * side + fast, j * side + slow) && (i > j || fast >= slow)) {
        *at(i * side + fast, j * side + slow) = tile[fast + slow * padded];
      }
      if (exists(i * side + slow, j * side + fast) && (i > j || slow > fast)) {
        *at(j * side + fast, i * side + slow) = tile[slow + fast * padded];
      }
    }
  }
  /// Stores the inverses of the diagonal blocks of L, and their transposes, those of U.
  __device__ void store_inverses(int j) const {
    for (int e = static_cast<int>(threadIdx.x); e < side * panel_width; e += tiles::threads) {
      const int block = j * (side / panel_width) + e / block_area;
      if (block >= factors_.blocks()) return;
      const int row = e % panel_width;
      const int column = e / panel_width % panel_width;
      const int first = e / block_area * panel_width;
      const T element = shared_.tiles[0][first + row + (first + column) * padded];
      T* const inverse = factors_.inverses_of(matrix_, block);
      inverse[row + column * panel_width] = element;
      inverse[block_area + column + row * panel_width] = element;
    }
  }

  const BlockFactors<T>& factors_;
  Shared& shared_;
  double tolerance_;
  std::int64_t matrix_ = 0;
  T* a_ = nullptr;
};

template <class T>
__global__ void __launch_bounds__(tiles::threads, 3)
    factor_batch_by_tiles(const BlockFactors<T> factors, double tolerance) {
  using Kernel = BatchedTileCholesky<T>;
  extern __shared__ double2 batch_tiles_shared[];
  auto& shared = *reinterpret_cast<typename Kernel::Shared*>(batch_tiles_shared);
  for (std::int64_t matrix = blockIdx.x; matrix < factors.count; matrix += gridDim.x) {
    Kernel(factors, tolerance, shared).run(matrix);
  }
}

}  // namespace echelon::batch_kernels

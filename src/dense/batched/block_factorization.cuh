// SPDX-License-Identifier: BSD-3-Clause
/// LU factorisation with partial pivoting of the matrices of a batch, each by one block.
///
/// A thread has one or two rows, and the elements of the current panel in them in registers. The panel is
/// brought up to date with one block of earlier columns after the other: the rows with pivots there are
/// multiplied by the inverse of the diagonal block of L, which gives a block of U, and L times that is
/// subtracted from the rows below. Then its columns are eliminated, for which only the pivot row passes
/// through shared memory. The matrix is read n / 32 times and written once.
#pragma once

#include "dense/batched/block_factors.cuh"
#include "dense/batched/thread_group.cuh"
#include "dense/panels/magnitude_bits.hpp"

#include <cmath>

namespace echelon::batch_kernels {

/// Pivot row of a column, or a candidate for it.
template <class T>
struct alignas(16) PivotRow {
  T elements[block_width];
  std::uint64_t magnitude;
  int row;
};

template <class T, int rows_per_thread>
class BlockFactorization {
  static constexpr int max_warps = max_block_threads / warp_size;
  using Panel = T[rows_per_thread][block_width];

 public:
  struct Shared {
    PivotRow<T> candidates[2][max_warps];
    alignas(16)
        SharedBlock<T> raw;  ///< rows with pivots before the multiplication by the inverse of L's block
    alignas(16) SharedBlock<T> upper;  ///< the block of U
    double largest[max_warps];
  };

  __device__ BlockFactorization(const BlockFactors<T>& factors, double tolerance, Shared& shared)
      : factors_(factors), shared_(shared), rows_{factors.n}, tolerance_(tolerance) {}

  /// Factors matrix number `matrix`. All threads of the block take part.
  __device__ void run(std::int64_t matrix) {
    matrix_ = matrix;
    a_ = factors_.a + matrix * factors_.stride;
    threshold_ = tolerance_ * norm_inf();
    for (int r = 0; r < rows_per_thread; ++r) step_[r] = no_step;
    BatchOutcome outcome;
    for (int first = 0; first < factors_.n && outcome.status == Status::direct; first += block_width) {
      Panel panel;
      load(first, panel);
      for (int q = 0; q < first; q += block_width) apply_block(q, first, panel);
      outcome = eliminate(first, panel);
      if (outcome.status != Status::direct) break;
      take_diagonal_block(first, panel);
      store(first, panel);
      __syncthreads();
      if (warp() == 0) invert_diagonal_block(first);
      __syncthreads();
    }
    for (int r = 0; r < rows_per_thread; ++r) {
      if (rows_.has(r)) factors_.steps[matrix * factors_.n + rows_[r]] = step_[r];
    }
    if (threadIdx.x == 0) factors_.outcomes[matrix] = outcome;
    __syncthreads();
  }

 private:
  [[nodiscard]] __device__ T* at(int row, int column) const { return a_ + row + column * factors_.leading; }
  [[nodiscard]] static __device__ int warp() { return static_cast<int>(threadIdx.x) / warp_size; }
  [[nodiscard]] static __device__ int warps() { return static_cast<int>(blockDim.x) / warp_size; }
  /// Columns of the panel that exist.
  [[nodiscard]] __device__ int width(int first) const { return min(block_width, factors_.n - first); }
  /// Whether the row has no pivot in the columns before `column`.
  [[nodiscard]] __device__ bool is_below(int r, int column) const {
    return rows_.has(r) && step_[r] >= column;
  }

  /// ||A||_inf of the matrix, or 0 if it is not finite: the elimination finds the column of the NaN or Inf.
  __device__ double norm_inf() {
    double largest = 0;
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
      double sum = 0;
      if (rows_.has(r)) {
#pragma unroll 8
        for (int j = 0; j < factors_.n; ++j) sum += fabs(static_cast<double>(*at(rows_[r], j)));
      }
      largest = fmax(largest, sum);
    }
    for (int delta = warp_size / 2; delta > 0; delta /= 2) {
      largest = fmax(largest, __shfl_xor_sync(full_warp, largest, delta));
    }
    if (lane_id() == 0) shared_.largest[warp()] = largest;
    __syncthreads();
    for (int w = 0; w < warps(); ++w) largest = fmax(largest, shared_.largest[w]);
    return std::isfinite(largest) ? largest : 0;
  }

  /// Elements of columns [first, first + block_width); zeros beyond the matrix.
  __device__ void load(int first, Panel& panel) const {
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
#pragma unroll
      for (int c = 0; c < block_width; ++c) {
        panel[r][c] = rows_.has(r) && first + c < factors_.n ? *at(rows_[r], first + c) : T{0};
      }
    }
  }

  /// Subtracts the product of columns [q, q + block_width) of L with the rows of U that these determine.
  __device__ void apply_block(int q, int first, Panel& panel) {
    T l[rows_per_thread][block_width];
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
      const bool needed = is_below(r, q + block_width);
#pragma unroll
      for (int k = 0; k < block_width; ++k) l[r][k] = needed ? *at(rows_[r], q + k) : T{0};
    }
    put_rows_with_pivots(q, panel, shared_.raw);
    __syncthreads();
    multiply_by_inverse(q);
    __syncthreads();
    take_rows_with_pivots(q, panel);
#pragma unroll
    for (int k = 0; k < block_width; ++k) {
#pragma unroll
      for (int c = 0; c < block_width; ++c) {
#pragma unroll
        for (int r = 0; r < rows_per_thread; ++r) panel[r][c] -= l[r][k] * shared_.upper[k * block_width + c];
      }
    }
  }

  /// Copies the rows whose steps are in [q, q + block_width), in the order of steps.
  __device__ void put_rows_with_pivots(int q, const Panel& panel, T* block) const {
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
      if (!rows_.has(r) || step_[r] < q || step_[r] >= q + block_width) continue;
#pragma unroll
      for (int c = 0; c < block_width; ++c) block[(step_[r] - q) * block_width + c] = panel[r][c];
    }
  }
  __device__ void take_rows_with_pivots(int q, Panel& panel) const {
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
      if (!rows_.has(r) || step_[r] < q || step_[r] >= q + block_width) continue;
#pragma unroll
      for (int c = 0; c < block_width; ++c) panel[r][c] = shared_.upper[(step_[r] - q) * block_width + c];
    }
  }
  /// Computes upper = inverse of the diagonal block of L times raw.
  __device__ void multiply_by_inverse(int q) {
    const T* const inverse = factors_.inverses_of(matrix_, q / block_width);
    for (int e = static_cast<int>(threadIdx.x); e < block_area; e += static_cast<int>(blockDim.x)) {
      const int row = e / block_width;
      T sum = 0;
#pragma unroll
      for (int k = 0; k < block_width; ++k) {
        sum += inverse[row + k * block_width] * shared_.raw[k * block_width + e % block_width];
      }
      shared_.upper[e] = sum;
    }
  }

  /// Eliminates the columns of the panel.
  __device__ BatchOutcome eliminate(int first, Panel& panel) {
    BatchOutcome outcome;
#pragma unroll
    for (int c = 0; c < block_width; ++c) {
      if (first + c >= factors_.n || outcome.status != Status::direct) break;
      const PivotRow<T>& pivot = find_pivot(c, panel);
      outcome = assess(pivot, first, c);
      const T reciprocal = T{1} / pivot.elements[c];
#pragma unroll
      for (int r = 0; r < rows_per_thread; ++r) {
        if (rows_[r] == pivot.row) step_[r] = first + c;
        const bool below = rows_.has(r) && step_[r] > first + c;
        const T factor = below ? panel[r][c] * reciprocal : T{0};
        if (below) panel[r][c] = factor;
#pragma unroll
        for (int k = c + 1; k < block_width; ++k) panel[r][k] -= factor * pivot.elements[k];
      }
    }
    return outcome;
  }

  /// The row with the largest element of a column, the upper of equal ones.
  __device__ const PivotRow<T>& find_pivot(int c, const Panel& panel) {
    std::uint64_t best = 0;
    int row = INT_MAX;
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
      if (!rows_.has(r) || step_[r] != no_step) continue;
      const std::uint64_t bits = magnitude_bits(panel[r][c]);
      if (row != INT_MAX && bits <= best) continue;
      best = bits;
      row = rows_[r];
    }
    const int own = row;
    combine_candidates(best, row);
    PivotRow<T>* const candidates = shared_.candidates[c % 2];
    if (own == row && (row != INT_MAX || lane_id() == 0)) {
      PivotRow<T>& candidate = candidates[warp()];
      candidate.magnitude = best;
      candidate.row = row;
#pragma unroll
      for (int k = 0; k < block_width; ++k) {
        T element = panel[0][k];
#pragma unroll
        for (int r = 1; r < rows_per_thread; ++r) element = rows_[r] == row ? panel[r][k] : element;
        candidate.elements[k] = element;
      }
    }
    __syncthreads();
    const bool exists = lane_id() < warps();
    best = exists ? candidates[lane_id()].magnitude : 0;
    const int candidate = exists ? candidates[lane_id()].row : INT_MAX;
    row = candidate;
    combine_candidates(best, row);
    const unsigned winners = __ballot_sync(full_warp, exists && candidate == row);
    return candidates[__ffs(static_cast<int>(winners)) - 1];
  }
  /// Reduces over the warp: the largest magnitude, and the first row that has it.
  static __device__ void combine_candidates(std::uint64_t& magnitude, int& row) {
    const unsigned upper = largest_of_warp(upper_half(magnitude));
    const bool ties = upper_half(magnitude) == upper;
    const unsigned lower = sizeof(T) == 8 ? largest_of_warp(ties ? lower_half(magnitude) : 0U) : 0U;
    const bool wins = ties && lower_half(magnitude) == lower;
    row = INT_MAX - static_cast<int>(largest_of_warp(static_cast<unsigned>(wins ? INT_MAX - row : 0)));
    magnitude = std::uint64_t{upper} << 32U | lower;
  }

  /// Whether the pivot of column first + c can be divided by.
  [[nodiscard]] __device__ BatchOutcome assess(const PivotRow<T>& pivot, int first, int c) const {
    const auto value = static_cast<double>(pivot.elements[c]);
    if (!std::isfinite(value) || !std::isfinite(T{1} / (value == 0 ? T{1} : pivot.elements[c]))) {
      return {Status::not_a_number, first + c};
    }
    if (fabs(value) > threshold_) return {};
    return {Status::singular, first + c};
  }

  /// Copies the factors of the diagonal block to shared memory, extended by the identity beyond the matrix.
  __device__ void take_diagonal_block(int first, const Panel& panel) {
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x); e < block_area; e += static_cast<int>(blockDim.x)) {
      shared_.raw[e] = e / block_width == e % block_width ? T{1} : T{0};
    }
    __syncthreads();
    put_rows_with_pivots(first, panel, shared_.raw);
  }
  /// Inverts both factors by one warp: the first lanes have the columns of the inverse of L, the others those
  /// of U.
  __device__ void invert_diagonal_block(int first) const {
    T* const inverse = factors_.inverses_of(matrix_, first / block_width);
    const int column = lane_id() % block_width;
    if (lane_id() < block_width) {
      invert_lower(column, inverse + column * block_width);
    } else {
      invert_upper(column, inverse + block_area + column * block_width);
    }
  }
  __device__ void invert_lower(int column, T* inverse) const {
    T x[block_width];
#pragma unroll
    for (int i = 0; i < block_width; ++i) x[i] = i == column ? T{1} : T{0};
#pragma unroll
    for (int i = 0; i < block_width; ++i) {
#pragma unroll
      for (int k = i + 1; k < block_width; ++k) x[k] -= shared_.raw[k * block_width + i] * x[i];
    }
#pragma unroll
    for (int i = 0; i < block_width; ++i) inverse[i] = x[i];
  }
  __device__ void invert_upper(int column, T* inverse) const {
    T x[block_width];
#pragma unroll
    for (int i = 0; i < block_width; ++i) x[i] = i == column ? T{1} : T{0};
#pragma unroll
    for (int i = block_width - 1; i >= 0; --i) {
      x[i] /= shared_.raw[i * block_width + i];
#pragma unroll
      for (int k = 0; k < i; ++k) x[k] -= shared_.raw[k * block_width + i] * x[i];
    }
#pragma unroll
    for (int i = 0; i < block_width; ++i) inverse[i] = x[i];
  }

  __device__ void store(int first, const Panel& panel) const {
    const int columns = width(first);
#pragma unroll
    for (int r = 0; r < rows_per_thread; ++r) {
      if (!rows_.has(r)) continue;
#pragma unroll
      for (int c = 0; c < block_width; ++c) {
        if (c < columns) *at(rows_[r], first + c) = panel[r][c];
      }
    }
  }

  const BlockFactors<T>& factors_;
  Shared& shared_;
  ThreadRows rows_;
  double tolerance_;
  double threshold_ = 0;
  std::int64_t matrix_ = 0;
  T* a_ = nullptr;
  int step_[rows_per_thread];
};

/// Blocks that a multiprocessor holds, by which the compiler limits registers. Measured: more blocks of fewer
/// registers are slower.
template <class T, int rows_per_thread>
inline constexpr int least_blocks = (sizeof(T) == 8 ? 1 : 2) + (rows_per_thread == 1 ? 1 : 0);

template <class T, int rows_per_thread>
__global__ void __launch_bounds__(max_block_threads, (least_blocks<T, rows_per_thread>))
    factor_batch(const BlockFactors<T> factors, double tolerance) {
  using Kernel = BlockFactorization<T, rows_per_thread>;
  __shared__ typename Kernel::Shared shared;
  for (std::int64_t matrix = blockIdx.x; matrix < factors.count; matrix += gridDim.x) {
    Kernel(factors, tolerance, shared).run(matrix);
  }
}

}  // namespace echelon::batch_kernels

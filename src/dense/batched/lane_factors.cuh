// SPDX-License-Identifier: BSD-3-Clause
/// LU and Cholesky factors of the matrices of a batch with at most 32 rows, and solves with them: adjacent
/// lanes of a warp have a matrix, each a row of it in registers, so that a warp has several small matrices.
/// Each element is read once and written once.
///
/// Rows are stored in the order of their pivots: L left of the diagonal (of ones for LU) and U from the
/// diagonal on, L^T for a Cholesky factorisation. `steps` has the row that each of them was, and `inverses`
/// is not used.
#pragma once

#include "dense/batched/block_substitution.cuh"
#include "dense/batched/thread_group.cuh"
#include "dense/batched/tile_cholesky.cuh"
#include "dense/panels/magnitude_bits.hpp"

#include <cmath>

namespace echelon::batch_kernels {

inline constexpr int max_lane_rows = warp_size;
inline constexpr int lane_threads = 128;  ///< of a block

/// `size`: lanes of a matrix, and the most rows and columns of it; a power of two.
template <class T, int size>
class LaneMatrix {
  using Group = ThreadGroup<size, 1>;

 public:
  __device__ explicit LaneMatrix(const BlockFactors<T>& factors)
      : factors_(factors),
        matrix_((std::int64_t{blockIdx.x} * lane_threads + threadIdx.x) / size),
        row_(static_cast<int>(threadIdx.x) % size),
        exists_(matrix_ < factors.count && row_ < factors.n),
        a_(factors.a + (exists_ ? matrix_ * factors.stride : 0)) {}

  __device__ void factor_lu(double tolerance) {
    load(size);
    const double threshold = tolerance * norm_inf();
    BatchOutcome outcome;
    int step = exists_ ? no_step : -1;
#pragma unroll
    for (int k = 0; k < size; ++k) {
      if (k >= factors_.n) break;
      const bool eligible = step == no_step;
      const int pivot = find_pivot(eligible, magnitude_bits(element_[k]));
      const T value = __shfl_sync(full_warp, element_[k], pivot);
      if (outcome.status == Status::direct) outcome = assess_pivot(value, threshold, k);
      const bool is_pivot = lane_id() == pivot;
      if (is_pivot) step = k;
      const T factor = eligible && !is_pivot ? element_[k] * (T{1} / value) : T{0};
      if (eligible && !is_pivot) element_[k] = factor;
#pragma unroll
      for (int c = k + 1; c < size; ++c) {
        element_[c] -= factor * __shfl_sync(full_warp, element_[c], pivot);
      }
    }
    store(step);
    if (exists_) factors_.steps[matrix_ * factors_.n + step] = row_;
    if (exists_ && row_ == 0) factors_.outcomes[matrix_] = outcome;
  }

  __device__ void factor_cholesky(double tolerance) {
    load(row_ + 1);
    const T diagonal = exists_ ? a_[row_ * (factors_.leading + 1)] : T{1};
    BatchOutcome outcome;
#pragma unroll
    for (int k = 0; k < size; ++k) {
      if (k >= factors_.n) break;
      const T value = of_row(element_[k], k);
      const T rounding = static_cast<T>(tolerance) * std::abs(of_row(diagonal, k));
      if (outcome.status == Status::direct) outcome = assess_square(value, rounding, k);
      const T root = std::sqrt(value);
      const T l = row_ > k ? element_[k] / root : (row_ == k ? root : T{0});
      if (row_ >= k) element_[k] = l;
#pragma unroll
      for (int c = k + 1; c < size; ++c) {
        const T w = of_row(l, c);
        element_[c] = row_ == k ? w : element_[c] - l * w;
      }
    }
    store(row_);
    if (exists_ && row_ == 0) factors_.outcomes[matrix_] = outcome;
  }

  /// Replaces the right-hand sides by the solutions.
  __device__ void solve(const BlockSystem<T>& system) {
    load(size);
    const bool unit = factors_.steps != nullptr;
    const bool permuted = unit && exists_;
    const int origin = permuted ? factors_.steps[matrix_ * factors_.n + row_] : row_;
    const T reciprocal = T{1} / (exists_ ? a_[row_ * (factors_.leading + 1)] : T{1});
    const bool regular = exists_ && factors_.outcomes[matrix_].status == Status::direct;
    for (std::int64_t column = 0; column < system.columns; ++column) {
      T* const b = system.b + (exists_ ? matrix_ * system.stride : 0) + column * system.leading;
      T x = exists_ ? b[origin] : T{0};
#pragma unroll
      for (int k = 0; k < size; ++k) {
        if (k >= factors_.n) break;
        if (!unit && row_ == k) x *= reciprocal;
        const T w = of_row(x, k);
        if (row_ > k) x -= element_[k] * w;
      }
#pragma unroll
      for (int k = size - 1; k >= 0; --k) {
        if (k >= factors_.n) continue;
        if (row_ == k) x *= reciprocal;
        const T w = of_row(x, k);
        if (row_ < k) x -= element_[k] * w;
      }
      if (exists_) b[row_] = regular ? x : static_cast<T>(NAN);
    }
  }

 private:
  /// Broadcasts a value from the lane that has row `row` of the matrix.
  static __device__ T of_row(T value, int row) {
    return __shfl_sync(full_warp, value, row, size);
  }

  /// Reads the first `columns` columns of the row; zeros beyond them.
  __device__ void load(int columns) {
#pragma unroll
    for (int c = 0; c < size; ++c) {
      const bool there = exists_ && c < columns && c < factors_.n;
      element_[c] = there ? a_[row_ + c * factors_.leading] : T{0};
    }
  }
  /// Stores the row as row `place`. All rows have been read.
  __device__ void store(int place) const {
    __syncwarp();
#pragma unroll
    for (int c = 0; c < size; ++c) {
      if (exists_ && c < factors_.n) a_[place + c * factors_.leading] = element_[c];
    }
  }

  /// ||A||_inf of the matrix, or 0 if it is not finite: the elimination finds the column of the NaN or Inf.
  [[nodiscard]] __device__ double norm_inf() const {
    double sum = 0;
#pragma unroll
    for (int c = 0; c < size; ++c) sum += fabs(static_cast<double>(element_[c]));
    const double norm = LogicalWarp<size>::all_reduce(sum, Maximum(), full_warp);
    return std::isfinite(norm) ? norm : 0;
  }

  /// The lane of the warp with the largest magnitude of the eligible ones of the matrix, the first of equal
  /// ones.
  [[nodiscard]] static __device__ int find_pivot(bool eligible, std::uint64_t magnitude) {
    const std::uint64_t bits = eligible ? magnitude : 0;
    const unsigned upper = Group::largest(upper_half(bits));
    bool best = eligible && upper_half(bits) == upper;
    unsigned lanes = Group::ballot(best);
    if (sizeof(T) == 8 && __any_sync(full_warp, (lanes & (lanes - 1)) != 0 ? 1 : 0) != 0) {
      const unsigned lower = Group::largest(best ? lower_half(bits) : 0U);
      best = best && lower_half(bits) == lower;
      lanes = Group::ballot(best);
    }
    return lanes == 0 ? Group::first_lane() : __ffs(static_cast<int>(lanes)) - 1;
  }

  /// Whether column k can be divided by the pivot.
  static __device__ BatchOutcome assess_pivot(T pivot, double threshold, int k) {
    const bool finite = std::isfinite(pivot) && std::isfinite(T{1} / (pivot == 0 ? T{1} : pivot));
    if (!finite) return {Status::not_a_number, k};
    if (fabs(static_cast<double>(pivot)) > threshold) return {};
    return {Status::singular, k};
  }
  /// Whether column k can be divided by the square root of the pivot.
  static __device__ BatchOutcome assess_square(T pivot, T rounding, int k) {
    if (!std::isfinite(pivot)) return {Status::not_a_number, k};
    if (pivot > rounding && pivot >= tiles::least_normal<T>) return {};
    return {pivot >= -rounding ? Status::singular : Status::not_spd, k};
  }

  const BlockFactors<T>& factors_;
  std::int64_t matrix_;
  int row_;
  bool exists_;
  T* a_;
  T element_[size];
};

template <class T, int size>
__global__ void __launch_bounds__(lane_threads)
    factor_lu_in_lanes(const BlockFactors<T> factors, double tolerance) {
  LaneMatrix<T, size>(factors).factor_lu(tolerance);
}

template <class T, int size>
__global__ void __launch_bounds__(lane_threads)
    factor_cholesky_in_lanes(const BlockFactors<T> factors, double tolerance) {
  LaneMatrix<T, size>(factors).factor_cholesky(tolerance);
}

template <class T, int size>
__global__ void __launch_bounds__(lane_threads) substitute_in_lanes(const BlockSystem<T> system) {
  LaneMatrix<T, size>(system.factors).solve(system);
}

}  // namespace echelon::batch_kernels

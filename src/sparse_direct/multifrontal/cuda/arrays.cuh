// SPDX-License-Identifier: BSD-3-Clause
/// Device arrays of a multifrontal factorisation, as kernels see them.
#pragma once

#include "backend/cuda/warp.cuh"
#include "sparse_direct/multifrontal/cuda/front_plan.hpp"
#include "support/kernel_arithmetic.cuh"
#include "support/scalar.hpp"

#include <echelon/matrix/scalar.hpp>

#include <cstdint>
#include <limits>

namespace echelon::sparse_direct::gpu {

/// Pivots of a front.
enum class PivotChoice {
  diagonal,  ///< in the order of the rows, for Cholesky's method and for LU with the pivots of earlier values
  largest,   ///< the largest in their columns among the rows that may be pivots, for LU
};

/// Facts about pivots that a factorisation gathers on the device.
struct PivotFacts {
  static constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
  std::int32_t first_failure = none;  ///< the first column of the permuted matrix without an acceptable pivot
  /// Bits of the largest |element| of L for FactorKind::lu. Non-negative doubles are ordered as their bits.
  unsigned long long largest_multiplier = 0;
  /// Bits of the smallest and of the largest magnitude of a pivot.
  unsigned long long smallest_pivot = std::numeric_limits<unsigned long long>::max();
  unsigned long long largest_pivot = 0;
};

template <class T>
struct FactorArrays {
  const Front* fronts;
  const std::int32_t* children;
  const std::int32_t* relative;       ///< places of the borders' columns in the parents
  const std::int32_t* relative_rows;  ///< and of their rows, which differ where pivots of LU are kept
  T* factor;
  T* stack;
  std::int32_t*
      exchanges;  ///< for each column of the permuted matrix: the row of its front that was exchanged with it
  std::int32_t* position;  ///< for each row of the permuted matrix: its place among its front's pivots; only
                           ///< for FactorKind::lu
  PivotFacts* facts;
  double diagonal_threshold;  ///< for PivotChoice::largest: an element on the diagonal that is at least this
                              ///< fraction of the largest of its column is the pivot
  unsigned* finished_children;  ///< for each front: small children that have been factored
  unsigned* assembled;  ///< for each level: small fronts that have read the update matrices of their children
};

__device__ inline int warp_id() {
  return static_cast<int>(threadIdx.x) / warp_size;
}
__device__ inline int block_warps() {
  return static_cast<int>(blockDim.x) / warp_size;
}

/// Element (j, i) of a matrix whose factors are of this kind, given element (i, j).
template <FactorKind kind, class T>
__device__ T mirrored(T element) {
  return is_hermitian(kind) ? conj(element) : element;
}

/// A column's element of the largest magnitude, which is -1 if no element is a number.
template <class T>
struct LargestInColumn {
  Real<T> magnitude = -1;
  int row = 0;

  /// Exchanges the elements of a warp for the largest of them, in the first of several such rows.
  __device__ void reduce_warp() {
#pragma unroll
    for (int delta = warp_size / 2; delta > 0; delta /= 2) {
      const Real<T> other = __shfl_xor_sync(full_warp, magnitude, delta);
      const int other_row = __shfl_xor_sync(full_warp, row, delta);
      if (other > magnitude || (other == magnitude && other_row < row)) {
        magnitude = other;
        row = other_row;
      }
    }
  }
};

/// Row of the pivot of column c, given its largest element.
template <class T>
__device__ int pivot_row(const FactorArrays<T>& arrays, const LargestInColumn<T>& largest, int c,
                         T diagonal) {
  return cabs1(diagonal) >= static_cast<Real<T>>(arrays.diagonal_threshold) * largest.magnitude ? c
                                                                                                : largest.row;
}

template <class T>
__device__ void record_failure(const FactorArrays<T>& arrays, int column) {
  atomicMin(&arrays.facts->first_failure, column);
}

/// Records the largest of the block's multipliers; all threads of the warp call it.
template <class T>
__device__ void record_multiplier(const FactorArrays<T>& arrays, Real<T> multiplier) {
  const Real<T> largest = warp_reduce(multiplier, Maximum());
  if (lane_id() == 0 && !(largest <= 1)) {
    atomicMax(&arrays.facts->largest_multiplier,
              static_cast<unsigned long long>(__double_as_longlong(static_cast<double>(largest))));
  }
}

/// Position of the first of the `count` ascending elements that is not less than `bound`.
__device__ inline int lower_bound(const std::int32_t* elements, int count, int bound) {
  int low = 0;
  int high = count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (elements[middle] < bound) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// Cholesky factorisation of a block of `width` <= order <= 32 rows, lane i of a warp holding row i and the
/// reciprocal of its diagonal element of L. Returns the first column whose pivot is not positive, or `width`.
template <int order, class T>
__device__ int factor_in_registers(T (&row)[order], int width, T& reciprocal) {
  const int lane = lane_id();
  int failed = width;
#pragma unroll
  for (int c = 0; c < order; ++c) {
    if (c >= width) break;
    const Real<T> pivot = LogicalWarp<>::shuffle(static_cast<Real<T>>(real(row[c])), c);
    if (!(pivot > 0) && failed == width) failed = c;
    const Real<T> reciprocal_root = rsqrt(pivot);
    if (lane == c) row[c] = T{pivot};
    if (lane == c) reciprocal = T{reciprocal_root};
    if (lane >= c) row[c] = row[c] * reciprocal_root;
#pragma unroll
    for (int j = c + 1; j < order; ++j) {
      const T other = LogicalWarp<>::shuffle(row[c], j);
      if (lane >= j) row[j] -= row[c] * conj(other);
    }
  }
  return failed;
}

/// LU factorisation without exchanges of a block of `width` <= order <= 32 rows, lane i of a warp holding row
/// i and the reciprocal of its pivot. Returns the first column whose pivot is zero or not a number, or
/// `width`.
template <int order, class T>
__device__ int factor_lu_in_registers(T (&row)[order], int width, Real<T>& multiplier, T& reciprocal) {
  const int lane = lane_id();
  int failed = width;
#pragma unroll
  for (int c = 0; c < order; ++c) {
    if (c >= width) break;
    const T pivot = LogicalWarp<>::shuffle(row[c], c);
    if (!(cabs1(pivot) > 0) && failed == width) failed = c;
    const T reciprocal_pivot = T{1} / pivot;
    if (lane == c) reciprocal = reciprocal_pivot;
    if (lane > c) {
      row[c] *= reciprocal_pivot;
      multiplier = fmax(multiplier, cabs1(row[c]));
    }
#pragma unroll
    for (int j = c + 1; j < order; ++j) {
      const T other = LogicalWarp<>::shuffle(row[j], c);
      if (lane > c) row[j] -= row[c] * other;
    }
  }
  return failed;
}

}  // namespace echelon::sparse_direct::gpu

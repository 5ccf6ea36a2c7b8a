// SPDX-License-Identifier: BSD-3-Clause
/// Sizes of the pivots of factors on a GPU.
#pragma once

#include "sparse_direct/multifrontal/cuda/arrays.cuh"

#include <cmath>
#include <cstring>

namespace echelon::sparse_direct::gpu {

/// The smallest and the largest magnitude of some pivots.
struct DevicePivotSizes {
  double smallest = std::numeric_limits<double>::max();
  double largest = 0;

  __device__ void add(double magnitude) {
    smallest = fmin(smallest, magnitude);
    largest = fmax(largest, magnitude);
  }

  /// Adds a pivot of order two, whose eigenvalues count; for a complex symmetric one a bound of the larger
  /// eigenvalue, and the determinant divided by it.
  template <class T>
  __device__ void add_pair(T a11, T a12, T a21, T a22) {
    const double larger = magnitude(a11 + a22) / 2 + hypot(magnitude(a11 - a22) / 2, magnitude(a21));
    add(larger);
    add(magnitude(a11 / larger * a22 - a12 / larger * a21));
  }
};

/// Records the sizes of the pivots of a front: those of L, squared, for Cholesky's method, those of U for LU,
/// and those of D, whose columns have two elements each. One block for each front.
template <class T, FactorKind kind>
__global__ void record_pivot_sizes(FactorArrays<T> arrays, const T* diagonal) {
  const Front& front = arrays.fronts[blockIdx.x];
  DevicePivotSizes sizes;
  for (int c = static_cast<int>(threadIdx.x); c < front.pivots; c += static_cast<int>(blockDim.x)) {
    if constexpr (has_block_diagonal(kind)) {
      const T* const D = diagonal + std::int64_t{2} * (front.first + c);
      if (c > 0 && D[-1] != T{}) continue;  // the second column of a pair
      if (D[1] == T{}) {
        sizes.add(magnitude(D[0]));
      } else {
        const auto below = static_cast<Dot<T>>(D[1]);
        sizes.add_pair(static_cast<Dot<T>>(D[0]), mirrored<kind>(below), below, static_cast<Dot<T>>(D[2]));
      }
    } else {
      const double pivot = magnitude(arrays.factor[front.panel + std::int64_t{c} * (front.rows + 1)]);
      sizes.add(kind == FactorKind::cholesky ? pivot * pivot : pivot);
    }
  }
  const double smallest = warp_reduce(sizes.smallest, Minimum());
  const double largest = warp_reduce(sizes.largest, Maximum());
  if (lane_id() != 0) return;
  atomicMin(&arrays.facts->smallest_pivot, static_cast<unsigned long long>(__double_as_longlong(smallest)));
  atomicMax(&arrays.facts->largest_pivot, static_cast<unsigned long long>(__double_as_longlong(largest)));
}

/// The smallest pivot divided by the largest; 1 without pivots.
inline double pivot_ratio(const PivotFacts& facts) {
  double smallest = 0;
  double largest = 0;
  std::memcpy(&smallest, &facts.smallest_pivot, sizeof smallest);
  std::memcpy(&largest, &facts.largest_pivot, sizeof largest);
  return largest > 0 ? smallest / largest : 1;
}

}  // namespace echelon::sparse_direct::gpu

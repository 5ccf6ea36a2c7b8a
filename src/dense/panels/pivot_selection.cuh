// SPDX-License-Identifier: BSD-3-Clause
/// Selection of a pivot by a warp, and reciprocals of pivots, for the leaf kernel (cluster_panel.cuh).
#pragma once

#include "dense/panels/cluster_memory.cuh"
#include "dense/panels/magnitude_bits.hpp"

#include <cstdint>

namespace echelon::panel_kernels {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/// Mask of the lane with the largest element, the upper row of equal ones. `max_upper`: the maximum over the
/// warp of upper_half(magnitude).
__device__ inline unsigned best_lanes(std::uint64_t magnitude, int row, unsigned max_upper) {
  unsigned best = __ballot_sync(full_warp, upper_half(magnitude) == max_upper);
  if ((best & (best - 1)) != 0) {  // several lanes agree in the upper half
    const unsigned lane = threadIdx.x % warp_size;
    const unsigned here = best >> lane & 1U;
    const unsigned lower = here != 0 ? lower_half(magnitude) : 0U;
    const unsigned best_lower = __reduce_max_sync(full_warp, lower);  // by all lanes, as __reduce requires
    const bool equal = here != 0 && lower == best_lower;
    const int upper_row = __reduce_min_sync(full_warp, equal ? row : no_row);
    best = __ballot_sync(full_warp, equal && row == upper_row);
    best &= ~best + 1;  // several lanes remain where no row is eligible
  }
  return best;
}

struct SelectedPivot {
  int index;            ///< in the list of candidates
  std::uint32_t upper;  ///< upper half of its magnitude_bits
  std::uint32_t above;  ///< maximum over all candidates
};

/// Selects the best of `count` candidates, at most 32, by all lanes of a warp. `with_above`: whether the
/// candidates have this maximum.
template <class T, bool with_above>
__device__ SelectedPivot select_pivot(const PivotCandidate<T>* list, int count) {
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  PivotCandidate<T> candidate{};
  candidate.row = no_row;
  if (lane < count) candidate = list[lane];
  const std::uint64_t magnitude = magnitude_bits(candidate.pivot);
  const unsigned upper = __reduce_max_sync(full_warp, upper_half(magnitude));
  const unsigned above = with_above ? __reduce_max_sync(full_warp, candidate.above) : 0U;
  return {__ffs(static_cast<int>(best_lanes(magnitude, candidate.row, upper))) - 1, upper, above};
}

/// Reciprocal 1 / x, correct up to its last bit, if has_reciprocal(x).
__device__ inline double reciprocal(double x) {
  double r = 0;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
  const double e = fma(-x, r, 1.0);
  return fma(r, fma(e, e, e), r);
}
__device__ inline float reciprocal(float x) {
  float r = 0;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return fmaf(r, fmaf(-x, r, 1.0F), r);
}
/// Whether x, given by the upper half of its magnitude_bits, and 1 / x are far from the ends of the range.
template <class T>
__device__ bool has_reciprocal(std::uint32_t upper) {
  constexpr bool wide = sizeof(T) == 8;
  constexpr std::uint32_t least = wide ? (1023U - 1000U) << 20U : (127U - 100U) << 23U;
  constexpr std::uint32_t most = wide ? (1023U + 1000U) << 20U : (127U + 100U) << 23U;
  return upper - least < most - least;
}

#endif

}  // namespace echelon::panel_kernels

// SPDX-License-Identifier: BSD-3-Clause
/// Products of small matrices on the tensor cores (mma.sync of PTX), compute capability 8.0 and later.
#pragma once

#include <cuda_runtime.h>

namespace echelon::mma {

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/// d = d + a b for a of 8 by 4, b of 4 by 8 and d of 8 by 8, by a warp whose lane l holds a[l / 4][l % 4],
/// b[l % 4][l / 4] and d[l / 4][l % 4 * 2 + (0, 1)].
__device__ inline void multiply_add_8x8x4(double2& d, double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(d.x), "+d"(d.y)
      : "d"(a), "d"(b));
}

#endif

/// Elements of a 16-by-8 block that lane l holds: those of rows l / 4 and l / 4 + 8 in columns l % 4 * 2 +
/// (0, 1).
struct Fragment16x8 {
  double2 rows[2];
};

/// d = d + a b for a 16-by-8 a and an 8-by-8 b, by a warp whose lane l holds, with g = l / 4 and t = l % 4,
/// a[g][t], a[g + 8][t], a[g][t + 4], a[g + 8][t + 4] and b[t][g], b[t + 4][g]. Before compute capability
/// 8.0, which has no tensor cores for doubles, shuffles are used.
__device__ inline void multiply_add_16x8x8(Fragment16x8& d, const double (&a)[4], const double (&b)[2]) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(d.rows[0].x), "+d"(d.rows[0].y), "+d"(d.rows[1].x), "+d"(d.rows[1].y)
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
  for (int k = 0; k < 2; ++k) {
#pragma unroll
    for (int r = 0; r < 2; ++r) multiply_add_8x8x4(d.rows[r], a[2 * k + r], b[k]);
  }
#else
  constexpr unsigned all_lanes = 0xffffffffU;
  const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const double left = __shfl_sync(all_lanes, b[k / 4], lane % 4 * 8 + k % 4);
    const double right = __shfl_sync(all_lanes, b[k / 4], lane % 4 * 8 + 4 + k % 4);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const double element = __shfl_sync(all_lanes, a[k / 4 * 2 + r], lane / 4 * 4 + k % 4);
      d.rows[r].x += element * left;
      d.rows[r].y += element * right;
    }
  }
#endif
}

}  // namespace echelon::mma

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

}  // namespace echelon::mma

// SPDX-License-Identifier: BSD-3-Clause
/// Products of small matrices in TF32 and bfloat16 on the tensor cores (mma.sync of PTX), compute capability
/// 8.0 and later.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace echelon::mma {

/// The nearest number of 11 significant bits, which TF32 represents.
__device__ inline std::uint32_t nearest_tf32(float x) {
  std::uint32_t result = 0;
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(result) : "f"(x));
#else
  asm("trap;");
#endif
  return result;
}

/// d = d + a b for a 16-by-8 a and an 8-by-8 b in TF32, whose elements are distributed as in
/// multiply_add_16x8x8. Lane l holds of the 16-by-8 d row l / 4, then row l / 4 + 8, columns l % 4 * 2 + (0,
/// 1). Compute capability 8.0.
__device__ inline void multiply_add_tf32(float (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2]) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  asm("trap;");
#endif
}

/// d = d + a b for a 16-by-16 a and a 16-by-8 b in bfloat16. A register holds columns (for b: rows) 2 t and 2
/// t + 1, or 2 t + 8 and 2 t + 9, in the order of multiply_add_16x8x8; d is distributed as there. Compute
/// capability 8.0.
__device__ inline void multiply_add_bf16(float (&d)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2]) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  asm("trap;");
#endif
}

}  // namespace echelon::mma

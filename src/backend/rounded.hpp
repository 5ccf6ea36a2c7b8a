// SPDX-License-Identifier: BSD-3-Clause
/// Sums and products that are rounded by themselves. nvcc contracts plain expressions to fused multiply-adds,
/// and a result would depend on which of two products it chooses; files of the host for which that matters
/// are compiled with -ffp-contract=off, as all are for OpenCL.
#pragma once

#include <echelon/annotate.hpp>

namespace echelon {

ECHELON_ANYWHERE inline float rounded_sum(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}
ECHELON_ANYWHERE inline double rounded_sum(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dadd_rn(a, b);
#else
  return a + b;
#endif
}

ECHELON_ANYWHERE inline float rounded_product(float a, float b) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}
ECHELON_ANYWHERE inline double rounded_product(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Arithmetic of kernels that are written for real and complex numbers.
#pragma once

#include <echelon/matrix/scalar.hpp>

#include <cuda_runtime.h>

namespace echelon {

/// |x| of a real x, |Re x| + |Im x| of a complex one.
template <class T>
__device__ Real<T> cabs1(T x) {
  if constexpr (is_complex<T>) {
    return fabs(x.real()) + fabs(x.imag());
  } else {
    return fabs(x);
  }
}

/// Computes sum = sum + a b; for complex numbers by fused operations.
template <class T>
__device__ void multiply_add(T& sum, T a, T b) {
  if constexpr (is_complex<T>) {
    sum = T{fma(-a.imag(), b.imag(), fma(a.real(), b.real(), sum.real())),
            fma(a.imag(), b.real(), fma(a.real(), b.imag(), sum.imag()))};
  } else {
    sum += a * b;
  }
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
// What is included before the instruction set is chosen is compiled for every processor.
#include "sparse_direct/multifrontal/host/kernels.hpp"

#if defined(__x86_64__)
#if !defined(__clang__)
// GCC 12 takes the undefined vectors of its own intrinsics for a fault (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define ECHELON_SIMD_AVX2
#include "sparse_direct/multifrontal/host/kernel_table.hpp"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace echelon::sparse_direct {

template <class T>
const FrontKernels<T>* avx2_kernels() {
#if defined(__x86_64__)
  return kernels_of<Avx2, T>();
#else
  return nullptr;
#endif
}

template const FrontKernels<float>* avx2_kernels();
template const FrontKernels<double>* avx2_kernels();

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/host/kernels.hpp"

namespace echelon::sparse_direct {

namespace {

template <class T>
const FrontKernels<T>* best_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      avx512_kernels<T>() != nullptr)
    return avx512_kernels<T>();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && avx2_kernels<T>() != nullptr)
    return avx2_kernels<T>();
#endif
  return portable_kernels<T>();
}

}  // namespace

template <class T>
const FrontKernels<T>& front_kernels() {
  static const FrontKernels<T>* const kernels = best_kernels<T>();
  return *kernels;
}

template const FrontKernels<float>& front_kernels();
template const FrontKernels<double>& front_kernels();

}  // namespace echelon::sparse_direct

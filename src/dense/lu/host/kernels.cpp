// SPDX-License-Identifier: BSD-3-Clause
#include "dense/lu/host/kernels.hpp"

namespace echelon::lu {

namespace {

template <class T>
const HostKernels<T>* best_kernels() {
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
const HostKernels<T>& host_kernels() {
  static const HostKernels<T>* const kernels = best_kernels<T>();
  return *kernels;
}

template const HostKernels<float>& host_kernels();
template const HostKernels<double>& host_kernels();

}  // namespace echelon::lu

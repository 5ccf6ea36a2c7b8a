// SPDX-License-Identifier: BSD-3-Clause
#include "dense/lu/host/kernels.hpp"

#include "linalg/kernels/best_kernels.hpp"

namespace echelon::lu {

template <class T>
const HostKernels<T>& host_kernels() {
  static const HostKernels<T>& kernels =
      best_kernels(avx512_kernels<T>(), avx2_kernels<T>(), portable_kernels<T>());
  return kernels;
}

template const HostKernels<float>& host_kernels();
template const HostKernels<double>& host_kernels();

}  // namespace echelon::lu

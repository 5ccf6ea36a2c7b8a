// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/host/kernels.hpp"

#include "linalg/kernels/best_kernels.hpp"

namespace echelon::sparse_direct {

template <class T>
const FrontKernels<T>& front_kernels() {
  static const FrontKernels<T>& kernels =
      best_kernels(avx512_kernels<T>(), avx2_kernels<T>(), portable_kernels<T>());
  return kernels;
}

template const FrontKernels<float>& front_kernels();
template const FrontKernels<double>& front_kernels();

}  // namespace echelon::sparse_direct

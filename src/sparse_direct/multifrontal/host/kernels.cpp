// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/host/kernels.hpp"

#include "linalg/kernels/best_kernels.hpp"

#include <support/scalar_list.hpp>

namespace echelon::sparse_direct {

template <class T>
const FrontKernels<T>& front_kernels() {
  static const FrontKernels<T>& kernels =
      best_kernels(avx512_kernels<T>(), avx2_kernels<T>(), portable_kernels<T>());
  return kernels;
}

#define ECHELON_INSTANTIATE(T) template const FrontKernels<T>& front_kernels();
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct

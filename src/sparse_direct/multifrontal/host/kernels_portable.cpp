// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/host/kernel_table.hpp"

#include <support/scalar_list.hpp>

namespace echelon::sparse_direct {

template <class T>
const FrontKernels<T>* portable_kernels() {
  return kernels_of<Portable, T>();
}

#define ECHELON_INSTANTIATE(T) template const FrontKernels<T>* portable_kernels();
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct

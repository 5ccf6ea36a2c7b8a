// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/multifrontal/host/kernel_table.hpp"

namespace echelon::sparse_direct {

template <class T>
const FrontKernels<T>* portable_kernels() {
  return kernels_of<Portable, T>();
}

template const FrontKernels<float>* portable_kernels();
template const FrontKernels<double>* portable_kernels();

}  // namespace echelon::sparse_direct

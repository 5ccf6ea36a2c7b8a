// SPDX-License-Identifier: BSD-3-Clause
#include "dense/lu/host/panel.hpp"

namespace echelon::lu {

template <class T>
const HostKernels<T>* portable_kernels() {
  return kernels_of<kernels::Portable, T>();
}

template const HostKernels<float>* portable_kernels();
template const HostKernels<double>* portable_kernels();

}  // namespace echelon::lu

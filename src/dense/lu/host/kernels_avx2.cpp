// SPDX-License-Identifier: BSD-3-Clause
// Headers before the choice of the instruction set are compiled for every processor.
#include "dense/lu/host/kernels.hpp"

#if defined(__x86_64__)
// The order of these headers has a meaning.
// clang-format off
#include "linalg/kernels/avx2_begin.hpp"
#include "dense/lu/host/panel.hpp"
#include "linalg/kernels/end.hpp"
// clang-format on
#endif

namespace echelon::lu {

template <class T>
const HostKernels<T>* avx2_kernels() {
#if defined(__x86_64__)
  return kernels_of<kernels::Avx2, T>();
#else
  return nullptr;
#endif
}

template const HostKernels<float>* avx2_kernels();
template const HostKernels<double>* avx2_kernels();

}  // namespace echelon::lu

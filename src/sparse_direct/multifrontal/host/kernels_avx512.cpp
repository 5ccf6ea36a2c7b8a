// SPDX-License-Identifier: BSD-3-Clause
// Headers before the choice of the instruction set are compiled for every processor.
#include "sparse_direct/multifrontal/host/kernels.hpp"

#if defined(__x86_64__)
// The order of these headers has a meaning.
// clang-format off
#include "linalg/kernels/avx512_begin.hpp"
#include "sparse_direct/multifrontal/host/kernel_table.hpp"
#include "linalg/kernels/end.hpp"
// clang-format on
#endif

namespace echelon::sparse_direct {

template <class T>
const FrontKernels<T>* avx512_kernels() {
#if defined(__x86_64__)
  return kernels_of<Avx512, T>();
#else
  return nullptr;
#endif
}

template const FrontKernels<float>* avx512_kernels();
template const FrontKernels<double>* avx512_kernels();

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
// Headers before the choice of the instruction set are compiled for every processor.
#include "sparse_direct/batched/host_kernels.hpp"
#include "sparse_direct/batched/operations.hpp"

#if defined(__x86_64__)
// The order of these headers has a meaning.
// clang-format off
#include "linalg/kernels/avx2_begin.hpp"
#include "sparse_direct/batched/kernel_table.hpp"
#include "linalg/kernels/end.hpp"
// clang-format on
#endif

namespace echelon::sparse_direct {

template <class T>
const BatchKernels<T>* avx2_batch_kernels() {
#if defined(__x86_64__)
  return batch_kernels_of<kernels::Avx2, T>();
#else
  return nullptr;
#endif
}

template const BatchKernels<float>* avx2_batch_kernels();
template const BatchKernels<double>* avx2_batch_kernels();

}  // namespace echelon::sparse_direct

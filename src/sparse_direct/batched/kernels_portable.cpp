// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/kernels/best_kernels.hpp"
#include "sparse_direct/batched/host_kernels.hpp"
#include "sparse_direct/batched/kernel_table.hpp"

namespace echelon::sparse_direct {

template <class T>
const BatchKernels<T>* portable_batch_kernels() {
  return batch_kernels_of<kernels::Portable, T>();
}

template <class T>
const BatchKernels<T>& batch_kernels() {
  static const BatchKernels<T>& kernels =
      best_kernels(avx512_batch_kernels<T>(), avx2_batch_kernels<T>(), portable_batch_kernels<T>());
  return kernels;
}

template const BatchKernels<float>* portable_batch_kernels();
template const BatchKernels<double>* portable_batch_kernels();
template const BatchKernels<float>& batch_kernels();
template const BatchKernels<double>& batch_kernels();

}  // namespace echelon::sparse_direct

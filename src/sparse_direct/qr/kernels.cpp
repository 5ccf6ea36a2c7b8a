// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/qr/kernels.hpp"

#include "linalg/kernels/best_kernels.hpp"

#include <support/scalar_list.hpp>

namespace echelon::sparse_direct {

template <class T>
const QrKernels<T>& qr_kernels() {
  static const QrKernels<T>& kernels =
      best_kernels(avx512_qr_kernels<T>(), avx2_qr_kernels<T>(), portable_qr_kernels<T>());
  return kernels;
}

#define ECHELON_INSTANTIATE(T) template const QrKernels<T>& qr_kernels();
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct

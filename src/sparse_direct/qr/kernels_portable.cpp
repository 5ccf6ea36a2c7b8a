// SPDX-License-Identifier: BSD-3-Clause
#include "sparse_direct/qr/front.hpp"
#include "sparse_direct/qr/kernels.hpp"

#include <support/scalar_list.hpp>

namespace echelon::sparse_direct {

template <class T>
const QrKernels<T>* portable_qr_kernels() {
  return qr_kernels_of<kernels::Portable, T>();
}

#define ECHELON_INSTANTIATE(T) template const QrKernels<T>* portable_qr_kernels();
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
// Headers before the choice of the instruction set are compiled for every processor.
#include "linalg/blas/blas.hpp"
#include "sparse_direct/qr/kernels.hpp"

#include <support/scalar_list.hpp>

#include <complex>
#include <type_traits>

#if defined(__x86_64__)
// The order of these headers has a meaning.
// clang-format off
#include "linalg/kernels/avx512_begin.hpp"
#include "sparse_direct/qr/front.hpp"
#include "linalg/kernels/end.hpp"
// clang-format on
#endif

namespace echelon::sparse_direct {

template <class T>
const QrKernels<T>* avx512_qr_kernels() {
#if defined(__x86_64__)
  if constexpr (!std::is_same_v<T, std::complex<float>>) return qr_kernels_of<kernels::Avx512, T>();
#endif
  return nullptr;
}

#define ECHELON_INSTANTIATE(T) template const QrKernels<T>* avx512_qr_kernels();
ECHELON_FOR_EACH_SCALAR(ECHELON_INSTANTIATE)
#undef ECHELON_INSTANTIATE

}  // namespace echelon::sparse_direct

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <echelon/annotate.hpp>

namespace echelon {

/// An element that nothing writes during a loop: a GPU keeps it for several uses.
template <class T>
[[nodiscard]] ECHELON_ANYWHERE T read_only(const T* element) {
#ifdef __CUDA_ARCH__
  return __ldg(element);
#else
  return *element;
#endif
}

}  // namespace echelon

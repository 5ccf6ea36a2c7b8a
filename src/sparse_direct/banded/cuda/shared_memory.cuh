// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime.h>

namespace echelon::banded {

/// The block's dynamic shared memory, aligned to 16 bytes.
template <class T>
__device__ T* dynamic_shared_memory() {
  extern __shared__ double2 shared[];
  return reinterpret_cast<T*>(shared);
}

}  // namespace echelon::banded

// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "backend/cuda/check.cuh"

namespace echelon {

/// Static shared memory for a type with members whose constructors are not empty, as arrays of complex
/// numbers. Nothing is initialised.
template <class S>
union SharedStorage {
  S value;
  __device__ SharedStorage() {}
};

/// Lets a kernel be launched with as much dynamic shared memory as the current GPU has for it; needed for
/// more than 48 KB. The limit belongs to the kernel, not to a launch: a limit for one launch would fail those
/// of other threads that need more.
template <class... Parameters>
void allow_shared_memory(void (*kernel)(Parameters...)) {
  cudaFuncAttributes attributes = {};
  check(cudaFuncGetAttributes(&attributes, kernel));
  int id = 0;
  int bytes = 0;
  check(cudaGetDevice(&id));
  check(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, id));
  bytes -= static_cast<int>(attributes.sharedSizeBytes);
  if (attributes.maxDynamicSharedSizeBytes < bytes) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  }
}

}  // namespace echelon

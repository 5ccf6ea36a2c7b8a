// SPDX-License-Identifier: BSD-3-Clause
/// Properties of a GPU that the launches of sweeps depend on.
#pragma once

#include "backend/cuda/cuda.cuh"

#include <echelon/device.hpp>

namespace echelon::gauss_seidel {

inline int device_attribute(const Device& device, cudaDeviceAttr which) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device.id()));
  return value;
}

/// Properties of the GPU that launches depend on.
struct Gpu {
  explicit Gpu(const Device& device)
      : multiprocessors(device_attribute(device, cudaDevAttrMultiProcessorCount)),
        shared_bytes(device_attribute(device, cudaDevAttrMaxSharedMemoryPerBlockOptin) - 1024),
        launches_early(device_attribute(device, cudaDevAttrComputeCapabilityMajor) >= 9) {}
  int multiprocessors;
  int shared_bytes;     ///< limit per block, less the 1 KiB that the runtime reserves
  bool launches_early;  ///< supports programmatic dependent launch
};

}  // namespace echelon::gauss_seidel

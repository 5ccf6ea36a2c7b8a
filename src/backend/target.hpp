// SPDX-License-Identifier: BSD-3-Clause
/// The compilation target of the current translation unit and its backends.
///
/// An algorithm `template <class Backend, class T> class X` is written once, in a .cpp that instantiates its
/// functions for `ThisTarget`. The host's compiler compiles it for HostTarget; with CUDA the build generates
/// a .cu that includes the .cpp, and nvcc compiles that for CudaTarget; with OpenCL Clang compiles it for
/// OpenClTarget. Host code declares all and selects one with on_target().
#pragma once

#include "backend/backend.hpp"
#include "backend/targets.hpp"

#include <echelon/device.hpp>
#ifdef __CUDACC__
#include "backend/cuda/cuda.cuh"
#elif defined(ECHELON_OPENCL_TARGET)
#include "backend/opencl/opencl.hpp"
#else
#include "backend/host/host.hpp"
#endif

namespace echelon {

#ifdef __CUDACC__
using ThisTarget = CudaTarget;
#elif defined(ECHELON_OPENCL_TARGET)
using ThisTarget = OpenClTarget;
#else
using ThisTarget = HostTarget;
#endif
static_assert(Backend<ThisTarget::Backend>);

/// Calls f with the target's backend type, as f.template operator()<Host>(). Throws Error for a device of
/// another target.
template <class F>
auto on_backend(const Device& device, F&& f) {
  if (!ThisTarget::includes(device)) throw_wrong_target(device);
  return f.template operator()<ThisTarget::Backend>();
}

}  // namespace echelon

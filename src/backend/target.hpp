// SPDX-License-Identifier: BSD-3-Clause
/// The compilation target of the current translation unit and its backends.
///
/// An algorithm `template <class Backend, class T> class X` is written once, in a .cpp that instantiates its
/// functions for `ThisTarget`. The host's compiler compiles it for HostTarget; with CUDA the build generates
/// a .cu that includes the .cpp, and nvcc compiles that for CudaTarget. Host code declares both and selects
/// one with on_target().
#pragma once

#include "backend/backend.hpp"
#include "backend/targets.hpp"

#include <echelon/device.hpp>
#ifdef __CUDACC__
#include "backend/cuda/cuda.cuh"
#else
#include "backend/host/host.hpp"
#endif

namespace echelon {

#ifdef __CUDACC__
using ThisTarget = CudaTarget;
static_assert(Backend<Cuda>);

/// Calls f with the backend type of `device`, as f.template operator()<Cuda>().
template <class F>
auto on_backend(const Device&, F&& f) {
  return f.template operator()<Cuda>();
}
#else
using ThisTarget = HostTarget;
static_assert(Backend<Host>);

/// Calls f with the backend type of `device`, as f.template operator()<Host>().
template <class F>
auto on_backend(const Device&, F&& f) {
  return f.template operator()<Host>();
}
#endif

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Which backends a translation unit instantiates: the host's in a .cpp, CUDA in a .cu.
///
/// An algorithm `template <class Backend, class T> class X` is written in x.cpp; x.cu consists of including
/// it. Both end up with the same explicit instantiations of functions templated on `ThisSide`, each for its
/// own side, and host code picks the side at run time by declaring both.
#pragma once

#include "backend/backend.hpp"
#include "backend/sides.hpp"

#include <echelon/device.hpp>
#ifdef __CUDACC__
#include "backend/cuda/cuda.cuh"
#else
#include "backend/openmp/openmp.hpp"
#include "backend/serial/serial.hpp"
#endif

namespace echelon {

#ifdef __CUDACC__
using ThisSide = CudaSide;
static_assert(Backend<Cuda>);

/// Calls f with the backend type of `device`, as f.template operator()<Cuda>().
template <class F>
auto on_backend(const Device&, F&& f) {
  return f.template operator()<Cuda>();
}
#else
using ThisSide = HostSide;
static_assert(Backend<Serial> && Backend<OpenMp>);

/// Calls f with the backend type of `device`, as f.template operator()<OpenMp>().
template <class F>
auto on_backend(const Device& device, F&& f) {
  return device.kind() == DeviceKind::serial ? f.template operator()<Serial>()
                                             : f.template operator()<OpenMp>();
}
#endif

}  // namespace echelon

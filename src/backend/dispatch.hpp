// SPDX-License-Identifier: BSD-3-Clause
/// Dispatch from a Device, known at run time, to the code compiled for its target. Included only where the
/// dispatch happens: every other host file compiles to the same code with and without CUDA.
#pragma once

#include "backend/targets.hpp"

#include <echelon/device.hpp>

#include <backend/with_cuda.hpp>

namespace echelon {

/// Throws Error, which names the device.
[[noreturn]] void throw_without_target(const Device& device);

/// Calls f as f.template operator()<HostTarget>() or <CudaTarget>(). Throws NotBuilt or NoDevice, and Error
/// for a kind of device that no target is for.
template <class F>
auto on_target(const Device& device, F&& f) {
  require(device);
  switch (device.kind()) {
    case DeviceKind::serial:
    case DeviceKind::openmp:
      return f.template operator()<HostTarget>();
    case DeviceKind::cuda:
#ifdef ECHELON_WITH_CUDA
      return f.template operator()<CudaTarget>();
#else
      break;
#endif
  }
  throw_without_target(device);
}

}  // namespace echelon

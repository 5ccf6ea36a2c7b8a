// SPDX-License-Identifier: BSD-3-Clause
/// Dispatch from a Device, known at run time, to the code compiled for its target. Included only where the
/// dispatch happens: every other host file compiles to the same code with and without CUDA.
#pragma once

#include "backend/targets.hpp"

#include <echelon/device.hpp>

#include <backend/with_cuda.hpp>

namespace echelon {

/// Calls f as f.template operator()<HostTarget>() or <CudaTarget>(). Throws NotBuilt or NoDevice.
template <class F>
auto on_target(const Device& device, F&& f) {
  require(device);
#ifdef ECHELON_WITH_CUDA
  if (!device.on_host()) return f.template operator()<CudaTarget>();
#endif
  return f.template operator()<HostTarget>();
}

}  // namespace echelon

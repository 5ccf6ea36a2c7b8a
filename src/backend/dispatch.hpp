// SPDX-License-Identifier: BSD-3-Clause
/// From a Device known at run time to the code that was compiled for its side. Only what goes there itself
/// includes this: all else compiles to the same with and without CUDA.
#pragma once

#include "backend/sides.hpp"

#include <echelon/device.hpp>

namespace echelon {

/// Calls f as f.template operator()<HostSide>() or <CudaSide>(). Throws NotBuilt or NoDevice.
template <class F>
auto on_side(const Device& device, F&& f) {
  require(device);
#ifdef ECHELON_WITH_CUDA
  if (!device.on_host()) return f.template operator()<CudaSide>();
#endif
  return f.template operator()<HostSide>();
}

}  // namespace echelon

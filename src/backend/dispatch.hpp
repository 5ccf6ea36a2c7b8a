// SPDX-License-Identifier: BSD-3-Clause
/// Dispatch from a Device, known at run time, to the code compiled for its target. Included only where the
/// dispatch happens: every other host file compiles to the same code with and without CUDA and OpenCL.
#pragma once

#include "backend/targets.hpp"

#include <echelon/device.hpp>
#include <echelon/options.hpp>

#include <backend/with_targets.hpp>

namespace echelon {

/// Throws NotBuilt, which names the device.
[[noreturn]] void throw_without_target(const Device& device);

/// Calls f as f.template operator()<HostTarget>(), <CudaTarget>() or <OpenClTarget>(). Throws NotBuilt or
/// NoDevice. `targets` are those that f is written for: `all`, or `both`, without OpenCL.
template <Targets targets = Targets::all, class F>
auto on_target(const Device& device, F&& f) {
  require(device);
  if (device.on_host()) return f.template operator()<HostTarget>();
#ifdef ECHELON_WITH_CUDA
  if (device.kind() == DeviceKind::cuda) return f.template operator()<CudaTarget>();
#endif
#ifdef ECHELON_WITH_OPENCL
  if constexpr (has_opencl(targets)) {
    if (device.kind() == DeviceKind::opencl) return f.template operator()<OpenClTarget>();
  }
#endif
  throw_without_target(device);
}

}  // namespace echelon

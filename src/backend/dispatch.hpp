// SPDX-License-Identifier: BSD-3-Clause
/// Dispatch from a Device, known at run time, to the code compiled for its target. Included only where the
/// dispatch happens: every other host file compiles to the same code with and without CUDA and OpenCL.
#pragma once

#include "backend/targets.hpp"

#include <echelon/device.hpp>
#include <echelon/matrix/scalar.hpp>
#include <echelon/options.hpp>

#include <backend/with_targets.hpp>

#include <type_traits>

namespace echelon {

/// Throws NotBuilt, which names the device.
[[noreturn]] void throw_without_target(const Device& device);
/// Throws NotBuilt: an operation on complex numbers is not for this device.
[[noreturn]] void throw_for_complex(const Device& device);

/// Targets of functions that are written for matrices of any T: OpenCL has real numbers alone, and CUDA
/// complex ones in double.
template <class T>
inline constexpr Targets targets_of = !is_complex<T>                    ? Targets::all
                                      : std::is_same_v<Real<T>, double> ? Targets::both
                                                                        : Targets::host;

/// Calls f as f.template operator()<HostTarget>(), <CudaTarget>() or <OpenClTarget>(). Throws NotBuilt or
/// NoDevice. `targets` are those that f is written for: `all`; `both`, without OpenCL; or `host`, of
/// operations that take complex numbers on the host only.
template <Targets targets = Targets::all, class F>
auto on_target(const Device& device, F&& f) {
  require(device);
  if (device.on_host()) return f.template operator()<HostTarget>();
  if constexpr (targets == Targets::host) throw_for_complex(device);
#ifdef ECHELON_WITH_CUDA
  if constexpr (has_cuda(targets)) {
    if (device.kind() == DeviceKind::cuda) return f.template operator()<CudaTarget>();
  }
#endif
#ifdef ECHELON_WITH_OPENCL
  if constexpr (has_opencl(targets)) {
    if (device.kind() == DeviceKind::opencl) return f.template operator()<OpenClTarget>();
  }
#endif
  throw_without_target(device);
}

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// Compilation targets. Code is instantiated once for each; on_target() selects one at run time.
#pragma once

#include <echelon/device.hpp>

namespace echelon {

class Host;
class Cuda;
class OpenCl;

/// Compiled by the host's compiler.
struct HostTarget {
  using Backend = Host;
  static bool includes(const Device& device) { return device.on_host(); }
};
/// Compiled by nvcc.
struct CudaTarget {
  using Backend = Cuda;
  static bool includes(const Device& device) { return device.kind() == DeviceKind::cuda; }
};
/// Compiled by Clang for OpenCL.
struct OpenClTarget {
  using Backend = OpenCl;
  static bool includes(const Device& device) { return device.kind() == DeviceKind::opencl; }
};

/// Throws Error, which names the device: the code of another target was called for it.
[[noreturn]] void throw_wrong_target(const Device& device);

}  // namespace echelon

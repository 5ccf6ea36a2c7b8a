// SPDX-License-Identifier: BSD-3-Clause
/// Compilation targets. Code is instantiated once for each; on_target() selects one at run time.
#pragma once

namespace echelon {

struct HostTarget {};  ///< compiled by the host's compiler: backend Host
struct CudaTarget {};  ///< compiled by nvcc: backend Cuda

}  // namespace echelon

// SPDX-License-Identifier: BSD-3-Clause
/// The sides that code is compiled for; on_side() goes to one of them at run time.
#pragma once

namespace echelon {

struct HostSide {};
struct CudaSide {};

}  // namespace echelon

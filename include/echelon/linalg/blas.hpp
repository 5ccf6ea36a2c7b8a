// SPDX-License-Identifier: BSD-3-Clause
/// The BLAS that dense methods call on the host.
#pragma once

#include <echelon/export.h>

#include <string>

namespace echelon {

struct ECHELON_API HostBlas {
  /// The processor whose kernels OpenBLAS runs, such as "SkylakeX"; empty for another BLAS.
  std::string kernels;
  /// The instructions of this processor that the kernels lack, and the remedy; empty if they lack none, or
  /// nothing is known about them. The same text is a warning in reports of methods that call BLAS for
  /// matrices of 512 rows and more.
  std::string warning;
  /// OpenBLAS's description of itself, with its version, options and kernels; empty for another BLAS.
  std::string description;
};

[[nodiscard]] ECHELON_API HostBlas host_blas();

}  // namespace echelon

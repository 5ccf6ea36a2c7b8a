// SPDX-License-Identifier: BSD-3-Clause
/// The tool's exit statuses, which scripts rely on.
#pragma once

#include <echelon/report.hpp>

namespace echelon::tool {

enum ExitCode : int {
  exit_solved = 0,         ///< also success of commands that solve nothing
  exit_not_converged = 1,  ///< or cancelled
  exit_usage = 2,
  exit_bad_input = 3,    ///< a file that cannot be read, or matrices that do not fit
  exit_no_solution = 4,  ///< singular, inconsistent, underdetermined, breakdown, ...
  exit_resources = 5,    ///< device, memory, or a file that cannot be written
  exit_internal = 70,    ///< a defect of the tool
};

[[nodiscard]] ExitCode exit_code(Status status);

}  // namespace echelon::tool

// SPDX-License-Identifier: BSD-3-Clause
/// Exceptions as an error message, an exit status and JSON.
#pragma once

#include "output/exit_code.hpp"

#include <exception>

namespace echelon::tool {

/// Prints `echelon: error: ...` to stderr and, if `json`, {"error": ...} as the report.
ExitCode report_failure(const std::exception_ptr& failure, bool json);

}  // namespace echelon::tool

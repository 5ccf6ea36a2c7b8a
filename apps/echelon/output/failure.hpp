// SPDX-License-Identifier: BSD-3-Clause
/// Exceptions, made into one line, an exit status and JSON.
#pragma once

#include "output/exit_code.hpp"

#include <exception>

namespace echelon::tool {

/// Writes `echelon: error: ...` to stderr and, when `json`, {"error": ...} to stdout.
ExitCode report_failure(const std::exception_ptr& failure, bool json);

}  // namespace echelon::tool

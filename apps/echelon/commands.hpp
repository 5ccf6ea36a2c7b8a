// SPDX-License-Identifier: BSD-3-Clause
/// The verbs. Each takes the words after its name and throws what `report_failure` makes an exit status of.
#pragma once

#include "exit_code.hpp"

#include <optional>
#include <string>
#include <vector>

namespace echelon::tool {

using Arguments = std::vector<std::string>;

ExitCode run_solve(const Arguments& arguments);
ExitCode run_info(const Arguments& arguments);
ExitCode run_convert(const Arguments& arguments);
ExitCode run_methods(const Arguments& arguments);

/// NAME, where the words contain `--help solver:NAME`.
[[nodiscard]] std::optional<std::string> method_asked_about(const Arguments& arguments);
/// The method's table of options.
ExitCode print_method_help(const std::string& name);

}  // namespace echelon::tool

// SPDX-License-Identifier: BSD-3-Clause
/// The verbs. Each takes the words after its name and throws what `report_failure` makes an exit status of.
#pragma once

#include "output/exit_code.hpp"

#include <string>
#include <vector>

namespace echelon::tool {

using Arguments = std::vector<std::string>;

ExitCode run_solve(const Arguments& arguments);
ExitCode run_info(const Arguments& arguments);
ExitCode run_convert(const Arguments& arguments);
ExitCode run_generate(const Arguments& arguments);
ExitCode run_rank(const Arguments& arguments);
ExitCode run_rref(const Arguments& arguments);
ExitCode run_invert(const Arguments& arguments);
ExitCode run_methods(const Arguments& arguments);

/// A method's, and a generator's, table of options.
ExitCode print_method_help(const std::string& name);
ExitCode print_generator_help(const std::string& name);

}  // namespace echelon::tool

// SPDX-License-Identifier: BSD-3-Clause
/// The commands. Each takes the arguments after its name, and returns the exit status or throws an exception,
/// which report_failure converts to one.
#pragma once

#include "output/exit_code.hpp"

#include <string>
#include <vector>

namespace echelon::tool {

using Arguments = std::vector<std::string>;

ExitCode run_solve(const Arguments& arguments);
ExitCode run_compare(const Arguments& arguments);
ExitCode run_info(const Arguments& arguments);
ExitCode run_convert(const Arguments& arguments);
ExitCode run_generate(const Arguments& arguments);
ExitCode run_factor(const Arguments& arguments);
ExitCode run_rank(const Arguments& arguments);
ExitCode run_rref(const Arguments& arguments);
ExitCode run_invert(const Arguments& arguments);
ExitCode run_schur(const Arguments& arguments);
ExitCode run_graph(const Arguments& arguments);
ExitCode run_methods(const Arguments& arguments);
ExitCode run_devices(const Arguments& arguments);

/// Print the help of a method or generator, with its options.
ExitCode print_method_help(const std::string& name);
ExitCode print_generator_help(const std::string& name);
/// Prints the options of `solve --ranks`.
ExitCode print_distributed_help();

}  // namespace echelon::tool

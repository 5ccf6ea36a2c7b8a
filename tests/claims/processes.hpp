// SPDX-License-Identifier: BSD-3-Clause
/// Worker processes, so that a crash or an endless loop of one solve does not end the run.
#pragma once

#include "claims/arguments.hpp"
#include "claims/tally.hpp"

#include <string>
#include <vector>

namespace echelon::claims {

/// Does the part of a worker process: writes a line before and after each solve to standard output.
void run_worker(const Arguments& arguments);

/// Runs all tasks in `arguments.jobs` worker processes, which are started with the words of the command line.
/// A process that crashes, or gives no answer within six time limits of processor time, counts as a failure
/// of the solve in progress, and another process goes on after it.
[[nodiscard]] Tally run_in_processes(const Arguments& arguments, const std::vector<std::string>& words);

}  // namespace echelon::claims
